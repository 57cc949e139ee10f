import PCastCore
import PCastSFU
import Synchronization

/// The units of packaged streams on their way from the thread of a shard to the packagers.
///
/// The thread delivers all units of an iteration together and never waits. If the reader is slower than the publishers,
/// units are dropped.
final class PublishedUnitFeed: Sendable {
    /// The units of one iteration of a loop.
    struct Batch: Sendable {
        let units: [PublishedUnit]
        /// Whether units were dropped since the previous batch, so that video must resume with a key frame.
        let followsLoss: Bool
        fileprivate let size: Int
    }

    /// The batches, for one reader, until the feed is finished. The reader calls ``processed(_:)`` after each.
    let batches: AsyncStream<Batch>
    private let continuation: AsyncStream<Batch>.Continuation
    private let queuedSize = Atomic(0)
    private let hasDropped = Atomic(false)

    /// The maximum size of the queued batches in bytes: four seconds of 64 Mbit/s.
    static let capacity = 32 << 20
    /// The size of a unit beside its data.
    private static let unitOverhead = 128

    private let renditions: RenditionSources

    /// Creates a feed. The units that are read for renditions go to `renditions`.
    init(renditions: RenditionSources = RenditionSources()) {
        self.renditions = renditions
        (batches, continuation) = AsyncStream<Batch>.makeStream()
    }

    /// Delivers the units that a shard has completed since the last call. It does nothing while no stream is read.
    func deliver(from sfu: inout SFU, at now: Instant) {
        guard sfu.isReadingUnits else { return }
        var units: [PublishedUnit] = []
        sfu.readUnits(at: now) { unit in
            if unit.use == .renditions { renditions.deliver(unit, at: now) } else { units.append(unit) }
        }
        deliver(units)
    }

    /// Delivers units, or drops them if the queue is full.
    func deliver(_ units: [PublishedUnit]) {
        guard !units.isEmpty else { return }
        let size = units.reduce(0) { $0 + $1.bytes.count + Self.unitOverhead }
        guard queuedSize.load(ordering: .relaxed) + size <= Self.capacity else {
            return hasDropped.store(true, ordering: .relaxed)
        }
        queuedSize.add(size, ordering: .relaxed)
        let followsLoss = hasDropped.exchange(false, ordering: .relaxed)
        continuation.yield(Batch(units: units, followsLoss: followsLoss, size: size))
    }

    /// Releases the space of a batch in the queue.
    func processed(_ batch: Batch) { queuedSize.subtract(batch.size, ordering: .relaxed) }

    /// Ends the batches.
    func finish() { continuation.finish() }
}
