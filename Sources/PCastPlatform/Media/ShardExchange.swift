import PCastCore
import PCastIO
import PCastSFU
import Synchronization

/// The exchange of messages between the shards of the SFU, each on its own thread. Each pair of shards has a ring for
/// batches of messages, and one for returning the batches. A sleeping receiver is woken.
///
/// It neither locks nor allocates per message. Each ring has space for all batches of a shard.
final class ShardExchange: Sendable {
    private typealias Ring = BoundedRing<ShardMessageBatch>

    private final class Loops: Sendable {
        let all: [EventLoop<SFU>]

        init(_ all: [EventLoop<SFU>]) { self.all = all }
    }

    private final class Flag: Sendable {
        let value = Atomic(false)
    }

    private let count: Int
    /// The rings for messages; the one from shard `a` to shard `b` has the index `a * count + b`.
    private let rings: [Ring]
    private let returnedBatches: [Ring]
    /// Whether a shard was woken and has not read yet, so that it is woken only once.
    private let isWoken: [Flag]
    /// Whether a shard has messages that wait for returned batches. The next shard that returns one wakes it.
    private let isWaitingForBatches: [Flag]
    private let loops = AtomicLazyReference<Loops>()

    init(count: Int) {
        self.count = count
        let pairs = count > 1 ? count * count : 0
        rings = (0..<pairs).map { _ in Ring(capacity: SFU.maximumShardMessageBatches) }
        returnedBatches = (0..<pairs).map { _ in Ring(capacity: SFU.maximumShardMessageBatches) }
        isWoken = (0..<count).map { _ in Flag() }
        isWaitingForBatches = (0..<count).map { _ in Flag() }
    }

    /// Sets the loops to wake. Before this call, no shard has messages.
    func open(to loops: [EventLoop<SFU>]) { _ = self.loops.storeIfNil(Loops(loops)) }

    /// Transfers a connection whose first frame belongs to a peer of another shard.
    func transfer(_ connection: AcceptedConnection, to shard: Int) { loops.load()?.all[shard].adopt(connection) }

    /// Closes a TCP connection that a shard does not need any more.
    func close(_ path: NetworkPath, at shard: Int) { loops.load()?.all[shard].close(path) }

    /// Processes the messages for a shard and forwards its own ones. It is called on the shard's thread in each
    /// iteration.
    func exchange(_ sfu: inout SFU, shard: Int, at now: Instant) {
        guard count > 1 else { return }
        // The flag is reset before reading, so that a later message wakes the shard again.
        isWoken[shard].value.store(false, ordering: .sequentiallyConsistent)
        returnBatches(to: &sfu, shard: shard)
        for other in 0..<count where other != shard {
            var hasRead = false
            while let batch = rings[other * count + shard].pop() {
                sfu.take(batch, from: other, at: now)
                // The ring cannot be full, because it is as large as the one from which the batch came.
                _ = returnedBatches[shard * count + other].push(batch)
                hasRead = true
            }
            if hasRead, isWaitingForBatches[other].value.exchange(false, ordering: .sequentiallyConsistent) {
                wake(other)
            }
        }
        forwardMessages(&sfu, from: shard)
    }

    /// Forwards a shard's messages to the others.
    func forwardMessages(_ sfu: inout SFU, from shard: Int) {
        guard count > 1 else { return }
        pushPendingMessages(of: &sfu, from: shard)
        guard sfu.hasPendingMessages else { return }
        // The flag is set before reading, so that a later returned batch wakes the shard.
        isWaitingForBatches[shard].value.store(true, ordering: .sequentiallyConsistent)
        returnBatches(to: &sfu, shard: shard)
        pushPendingMessages(of: &sfu, from: shard)
    }

    private func returnBatches(to sfu: inout SFU, shard: Int) {
        for other in 0..<count where other != shard {
            while let batch = returnedBatches[other * count + shard].pop() { sfu.takeBack(batch) }
        }
    }

    private func pushPendingMessages(of sfu: inout SFU, from shard: Int) {
        while let (other, batch) = sfu.pollMessages() {
            _ = rings[shard * count + other].push(batch)
            wake(other)
        }
    }

    private func wake(_ shard: Int) {
        guard !isWoken[shard].value.exchange(true, ordering: .sequentiallyConsistent) else { return }
        loops.load()?.all[shard].wake()
    }
}
