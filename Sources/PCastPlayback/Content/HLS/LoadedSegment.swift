internal import PCastHLS
internal import PCastMedia
internal import Synchronization

/// A segment that is loaded, or being loaded.
final class LoadedSegment: Sendable {
    /// In its own playlist.
    let number: Int64
    /// Which variant it is of; nil for a rendition of its own.
    let rung: Int?
    let start: TimeSpan
    let duration: TimeSpan
    /// By which timestamps go on from segment to segment.
    let clock: SegmentClock
    let initialization: [UInt8]
    let bytes: SegmentBytes
    /// The reader has begun with it.
    let isBegun = Atomic(false)
    /// It was left for another variant's of the same moments: what came of it is all that will.
    var isLeft: Bool { left.load(ordering: .acquiring) }
    private let left = Atomic(false)

    var end: TimeSpan { start + duration }

    func leave() { left.store(true, ordering: .releasing) }

    init(
        number: Int64, rung: Int?, start: TimeSpan, duration: TimeSpan, clock: SegmentClock, initialization: [UInt8],
        bytes: SegmentBytes
    ) {
        (self.number, self.rung, self.start, self.duration) = (number, rung, start, duration)
        (self.clock, self.initialization, self.bytes) = (clock, initialization, bytes)
    }
}

/// Within one of these timestamps mean the same in each rendition: a discontinuity sequence number of a presentation that
/// has not restarted.
struct SegmentClock: Hashable, Sendable {
    var epoch: Int
    var discontinuity: Int64
}
