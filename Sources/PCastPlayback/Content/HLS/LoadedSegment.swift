internal import PCastCore
internal import PCastHLS
internal import Synchronization

/// A segment that is loaded, or being loaded.
final class LoadedSegment: Sendable {
    /// In its own playlist.
    let number: Int64
    /// Which variant it is of; nil for a rendition of its own.
    let rung: Int?
    /// Where it lies: as its playlist says, until its media are read or those before them.
    var start: TimeSpan { place.withLock { $0.start } }
    var duration: TimeSpan { place.withLock { $0.duration } }
    /// By which timestamps go on from segment to segment.
    let clock: SegmentClock
    let initialization: [UInt8]
    let bytes: SegmentBytes
    /// The reader has begun with it.
    let isBegun = Atomic(false)
    /// It was left for another variant's of the same moments: what came of it is all that will.
    var isLeft: Bool { left.load(ordering: .acquiring) }
    private let left = Atomic(false)

    private struct Place {
        var start: TimeSpan
        var duration: TimeSpan
        /// How far the timeline is ahead of its timestamps.
        var offset: TimeSpan?
    }

    private let place: Mutex<Place>
    /// Its playlist's word on it was corrected by media that were read.
    let isMeasured: Bool

    var end: TimeSpan { place.withLock { $0.start + $0.duration } }

    /// How far the timeline is ahead of its timestamps, as it was found when it was read first; nil before.
    var offset: TimeSpan? {
        get { place.withLock { $0.offset } }
        set { place.withLock { $0.offset = newValue } }
    }

    func move(by distance: TimeSpan) { place.withLock { $0.start += distance } }

    /// Another begins there.
    func setEnd(_ end: TimeSpan) { place.withLock { $0.duration = max(end - $0.start, .zero) } }

    func leave() { left.store(true, ordering: .releasing) }

    init(
        number: Int64, rung: Int?, start: TimeSpan, duration: TimeSpan, clock: SegmentClock, initialization: [UInt8],
        bytes: SegmentBytes, isMeasured: Bool = false
    ) {
        (self.number, self.rung, self.isMeasured) = (number, rung, isMeasured)
        place = Mutex(Place(start: start, duration: duration))
        (self.clock, self.initialization, self.bytes) = (clock, initialization, bytes)
    }
}

/// Within one of these timestamps mean the same in each rendition: a discontinuity sequence number of a presentation that
/// has not restarted.
struct SegmentClock: Hashable, Sendable {
    var epoch: Int
    var discontinuity: Int64
}
