import PCastIO
import PCastMedia
import PCastRelay
import Synchronization

/// How the shards of a relay, each on its own thread, hand parcels to each other: a ring from each to each of the others,
/// one back for what was read, and a wake for who sleeps.
///
/// Nothing is locked or allocated for a parcel. A ring has room for all batches that a shard makes.
final class ShardExchange: Sendable {
    private typealias Ring = BoundedRing<ParcelBatch>

    private final class Loops: Sendable {
        let all: [EventLoop<Relay>]

        init(_ all: [EventLoop<Relay>]) { self.all = all }
    }

    private final class Flag: Sendable {
        let value = Atomic(false)
    }

    private let count: Int
    /// From the first to the second, at first × count + second.
    private let forth: [Ring]
    private let back: [Ring]
    /// Whether a shard is on its way to look, so that it is woken once.
    private let isComing: [Flag]
    /// Whether a shard waits for others to read what it has brought them; the next one that does wakes it.
    private let isHolding: [Flag]
    private let loops = AtomicLazyReference<Loops>()

    init(count: Int) {
        self.count = count
        let pairs = count > 1 ? count * count : 0
        forth = (0..<pairs).map { _ in Ring(capacity: Relay.maximumParcelBatches) }
        back = (0..<pairs).map { _ in Ring(capacity: Relay.maximumParcelBatches) }
        isComing = (0..<count).map { _ in Flag() }
        isHolding = (0..<count).map { _ in Flag() }
    }

    /// Who is woken; before, nobody has anything for anybody.
    func open(to loops: [EventLoop<Relay>]) { _ = self.loops.storeIfNil(Loops(loops)) }

    /// Hands over a connection whose first frame is of a shard's peer.
    func handOver(_ connection: ArrivedConnection, to shard: Int) { loops.load()?.all[shard].adopt(connection) }

    /// Closes a connection that a shard does not need any more.
    func close(_ path: NetworkPath, at shard: Int) { loops.load()?.all[shard].close(path) }

    /// Takes in what the others have for a shard, and brings them what it has for them. Called on its thread in each of its
    /// turns.
    func exchange(_ relay: inout Relay, shard: Int, at now: Instant) {
        guard count > 1 else { return }
        // Before looking: what comes afterwards wakes anew.
        isComing[shard].value.store(false, ordering: .sequentiallyConsistent)
        takeBack(to: &relay, shard: shard)
        for other in 0..<count where other != shard {
            var hasRead = false
            while let batch = forth[other * count + shard].pop() {
                relay.take(batch, from: other, at: now)
                // There is room: it has come by a ring of the same size.
                _ = back[shard * count + other].push(batch)
                hasRead = true
            }
            if hasRead, isHolding[other].value.exchange(false, ordering: .sequentiallyConsistent) { wake(other) }
        }
        bring(&relay, from: shard)
    }

    /// Brings the others what a shard has for them.
    func bring(_ relay: inout Relay, from shard: Int) {
        guard count > 1 else { return }
        bringAll(of: &relay, from: shard)
        guard relay.isHoldingParcels else { return }
        // Before looking: what is given back afterwards wakes.
        isHolding[shard].value.store(true, ordering: .sequentiallyConsistent)
        takeBack(to: &relay, shard: shard)
        bringAll(of: &relay, from: shard)
    }

    private func takeBack(to relay: inout Relay, shard: Int) {
        for other in 0..<count where other != shard {
            while let batch = back[other * count + shard].pop() { relay.takeBack(batch) }
        }
    }

    private func bringAll(of relay: inout Relay, from shard: Int) {
        while let (other, batch) = relay.pollParcels() {
            _ = forth[shard * count + other].push(batch)
            wake(other)
        }
    }

    private func wake(_ shard: Int) {
        guard !isComing[shard].value.exchange(true, ordering: .sequentiallyConsistent) else { return }
        loops.load()?.all[shard].wake()
    }
}
