internal import PCastCodecs
internal import PCastCore
internal import PCastHLS
internal import Synchronization

/// A segment that is loaded, completely or in part.
final class LoadedSegment: Sendable {
    /// The media sequence number in its playlist.
    let number: Int64
    /// The index of its variant; nil for a rendition without variants.
    let rung: Int?
    /// The position of its beginning: from the playlist, and corrected when its media or earlier media are read.
    var start: TimeSpan { position.withLock { $0.start } }
    /// The duration from the playlist, and corrected when the next segment is read.
    var duration: TimeSpan { position.withLock { $0.duration } }
    /// The clock of its timestamps.
    let clock: SegmentClock
    let initialization: [UInt8]
    /// The decryption of its samples; nil if they are not encrypted.
    let decryption: SampleDecryption?
    let bytes: SegmentBytes
    /// Whether the reader has begun to read it.
    let isBegun = Atomic(false)
    /// Whether it was replaced by a segment of another variant for the same time. No more of it is loaded.
    var isLeft: Bool { left.load(ordering: .acquiring) }
    private let left = Atomic(false)
    /// Whether media is absent at its end, as far as it is loaded. The media of the next segment then do not follow the last
    /// ones of this.
    var endsInGap: Bool { gap.load(ordering: .acquiring) }
    private let gap = Atomic(false)

    /// The position of the segment.
    private struct SegmentPosition {
        var start: TimeSpan
        var duration: TimeSpan
        /// The position minus the timestamp; nil before its media are read.
        var offset: TimeSpan?
        var isMeasured: Bool
        /// The duration of the parts that are loaded; nil for a segment that is loaded as a whole.
        var loaded: TimeSpan?
    }

    private let position: Mutex<SegmentPosition>
    /// Whether its position in the playlist was corrected by media that were read.
    var isMeasured: Bool { position.withLock { $0.isMeasured } }

    /// The position of its end.
    var end: TimeSpan { position.withLock { $0.start + $0.duration } }

    /// The position of the end of the parts that are loaded, or of the whole segment.
    var loadedEnd: TimeSpan { position.withLock { $0.start + ($0.loaded ?? $0.duration) } }

    /// Extends the segment, because its playlist lists more parts. `loaded` is the duration of the parts that are loaded; nil
    /// for a segment that is loaded as a whole.
    func extend(to end: TimeSpan?, loaded: TimeSpan?) {
        position.withLock { position in
            if let end { position.duration = max(position.duration, end - position.start) }
            position.loaded = loaded
        }
    }

    /// The position minus the timestamp, from the first time it was read; nil before.
    var offset: TimeSpan? {
        get { position.withLock { $0.offset } }
        set { position.withLock { $0.offset = newValue } }
    }

    /// Moves the segment by a distance.
    func move(by distance: TimeSpan) { position.withLock { $0.start += distance } }

    /// Moves the segment because its place in the timeline has changed.
    func move(from earlier: TimelineSegment, to current: TimelineSegment) {
        position.withLock { position in
            position.start += current.start - earlier.start
            position.duration = max(position.duration + (current.duration - earlier.duration), .zero)
            position.isMeasured = current.isMeasured
        }
    }

    /// Sets the position of its end, at which the next one begins.
    func setEnd(_ end: TimeSpan) { position.withLock { $0.duration = max(end - $0.start, .zero) } }

    /// Marks the segment as replaced.
    func leave() { left.store(true, ordering: .releasing) }

    /// Records whether media is absent at the end of what was loaded.
    func noteGap(_ isAbsent: Bool) { gap.store(isAbsent, ordering: .releasing) }

    /// Creates a segment.
    init(
        number: Int64, rung: Int?, start: TimeSpan, duration: TimeSpan, clock: SegmentClock, initialization: [UInt8],
        decryption: SampleDecryption? = nil, bytes: SegmentBytes, isMeasured: Bool = false
    ) {
        (self.number, self.rung) = (number, rung)
        position = Mutex(SegmentPosition(start: start, duration: duration, isMeasured: isMeasured))
        (self.clock, self.initialization, self.decryption, self.bytes) = (clock, initialization, decryption, bytes)
    }
}

/// The clock of timestamps, which all renditions share: a discontinuity sequence number of a presentation that has not
/// restarted.
struct SegmentClock: Hashable, Sendable {
    var epoch: Int
    var discontinuity: Int64
}
