import PCastCore
import PCastSFU
import Synchronization

/// The units of streams on their way from the thread of a shard to the packagers, or to the transport streams of SRT
/// viewers.
///
/// The thread never waits. It resumes the reader when a unit may complete a part, because each resumption costs more than
/// the packaging of a unit. Until then the units are kept, for ``maximumDelay`` or somewhat longer. If the reader is slower
/// than the publishers, units are dropped.
final class PublishedUnitFeed: Sendable {
    /// Units in the order of their arrival.
    struct Batch: Sendable {
        let units: [PublishedUnit]
        /// Whether units were dropped since the previous batch, so that video must resume with a key frame.
        let followsLoss: Bool
        /// A stream that has ended, of which no units follow; nil for none.
        let ended: StreamID?
        fileprivate let size: Int
    }

    /// The batches, for one reader, until the feed is finished. The reader calls ``processed(_:)`` after each.
    let batches: AsyncStream<Batch>
    private let continuation: AsyncStream<Batch>.Continuation
    private let queuedSize = Atomic(0)
    private let hasDropped = Atomic(false)
    private let waiting = Mutex(Waiting())

    /// The units that the reader has not received.
    private struct Waiting {
        var units: [PublishedUnit] = []
        var size = 0
        /// The time at which the first one was delivered.
        var since = Instant(nanoseconds: .min)
        /// The timestamps from which on units of a stream are urgent, by their tracks. Units of other streams and tracks are
        /// always urgent.
        var next: [StreamID: [PublishedUnit.Track: Int64]] = [:]

        func isUrgent(_ unit: PublishedUnit) -> Bool {
            guard let next = next[unit.stream]?[unit.track] else { return true }
            return unit.timestamp >= next || unit.isKeyFrame && unit.layer != nil
        }

        /// Returns all units, and removes them.
        mutating func take() -> (units: [PublishedUnit], size: Int) {
            defer { (units, size) = ([], 0) }
            return (units, size)
        }
    }

    /// The time for which units are kept that are not urgent. It is longer than a usual part, whose last unit is urgent.
    static let maximumDelay = TimeSpan.milliseconds(250)
    /// The size of units at which they are urgent, in bytes.
    private static let maximumKeptSize = 1 << 20

    /// The maximum size of the queued batches in bytes: four seconds of 64 Mbit/s.
    static let capacity = 32 << 20
    /// The size of a unit beside its data.
    private static let unitOverhead = 128

    private let renditions: RenditionSources
    private let transportStreams: PublishedUnitFeed?

    /// Creates a feed. The units that are read for renditions go to `renditions`, and those for transport streams to
    /// `transportStreams`.
    init(renditions: RenditionSources = RenditionSources(), transportStreams: PublishedUnitFeed? = nil) {
        self.renditions = renditions
        self.transportStreams = transportStreams
        (batches, continuation) = AsyncStream<Batch>.makeStream()
    }

    /// Delivers the units that a shard has completed since the last call. It does nothing while no stream is read.
    func deliver(from sfu: inout SFU, at now: Instant) {
        guard sfu.isReadingUnits else { return }
        var units: [PublishedUnit] = []
        var transported: [PublishedUnit] = []
        sfu.readUnits(at: now) { unit in
            switch unit.use {
            case .packaging: units.append(unit)
            case .renditions: renditions.deliver(unit, at: now)
            case .transportStream: transported.append(unit)
            }
        }
        deliver(units, at: now)
        transportStreams?.deliver(transported, at: now)
    }

    /// Delivers units, or drops them if the queue is full. It may be called on any thread.
    func deliver(_ units: [PublishedUnit], at now: Instant) {
        guard !units.isEmpty else { return }
        let size = units.reduce(0) { $0 + $1.bytes.count + Self.unitOverhead }
        guard queuedSize.load(ordering: .relaxed) + size <= Self.capacity else {
            return hasDropped.store(true, ordering: .relaxed)
        }
        queuedSize.add(size, ordering: .relaxed)
        waiting.withLock { waiting in
            if waiting.units.isEmpty { waiting.since = now }
            waiting.units += units
            waiting.size += size
            let isUrgent =
                waiting.size >= Self.maximumKeptSize || now - waiting.since >= Self.maximumDelay
                || units.contains { waiting.isUrgent($0) }
            if isUrgent { yield(&waiting) }
        }
    }

    /// Passes on the units that have been kept for the longest time. Call it regularly, because a publisher may have
    /// stopped.
    func flush(at now: Instant) {
        waiting.withLock { waiting in
            guard !waiting.units.isEmpty, now - waiting.since >= Self.maximumDelay else { return }
            yield(&waiting)
        }
    }

    /// Sets the timestamps from which on units of a stream are urgent, by their tracks. If there are none, all are.
    func setNext(_ timestamps: [PublishedUnit.Track: Int64], of stream: StreamID) {
        waiting.withLock { $0.next[stream] = timestamps.isEmpty ? nil : timestamps }
    }

    /// Passes on all units, and the end of a stream after them.
    func end(_ stream: StreamID) {
        waiting.withLock { waiting in
            waiting.next[stream] = nil
            yield(&waiting, ended: stream)
        }
    }

    /// Resumes the reader. It is called under the lock, so that the units remain in order.
    private func yield(_ waiting: inout Waiting, ended: StreamID? = nil) {
        let (units, size) = waiting.take()
        let followsLoss = hasDropped.exchange(false, ordering: .relaxed)
        continuation.yield(Batch(units: units, followsLoss: followsLoss, ended: ended, size: size))
    }

    /// Releases the space of a batch in the queue.
    func processed(_ batch: Batch) { queuedSize.subtract(batch.size, ordering: .relaxed) }

    /// Ends the batches.
    func finish() { continuation.finish() }
}
