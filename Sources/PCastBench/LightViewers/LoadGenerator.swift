import PCastCore
import PCastWebRTC

/// The light viewers of one event loop.
typealias LightViewerGroup = LoadGenerator<LightViewer>

/// Many light peers on one event loop. The local address of a datagram selects the peer: by port if all share one IP
/// address, by IP address if all share one port.
struct LoadGenerator<Peer: LightPeer>: ~Copyable, DatagramMachine {
    private static var never: Instant { Instant(nanoseconds: .max) }

    private(set) var peers: [Peer] = []
    /// The index of a peer for each value of `key(_:)`; -1 for none.
    private var peerIndices = [Int32](repeating: -1, count: 65_536)
    /// The deadline of each peer. For hundreds of peers, a linear search of an array is faster than a heap.
    private var deadlines: [Instant] = []
    /// The indexes of peers that may have datagrams to send, without duplicates.
    private var waiting: [Int] = []
    private var isWaiting: [Bool] = []

    /// The low 16 bits of the sum of IP address and port, of which there are 65,536 values.
    private static func key(_ address: TransportAddress) -> Int {
        Int(UInt16(truncatingIfNeeded: address.ip.v4 ?? 0) &+ address.port)
    }

    mutating func add(_ peer: Peer, at address: TransportAddress) {
        peerIndices[Self.key(address)] = Int32(peers.count)
        peers.append(peer)
        deadlines.append(Self.never)
        isWaiting.append(false)
        wait(peers.count - 1)
    }

    /// Calls the closure for each peer and then polls each peer.
    mutating func forEach(_ body: (Peer) -> Void) {
        for index in peers.indices {
            body(peers[index])
            wait(index)
        }
    }

    mutating func close(at now: Instant) {
        for index in peers.indices {
            peers[index].close(at: now)
            wait(index)
        }
    }

    /// Closes one peer, by the order of `add`.
    mutating func close(_ index: Int, at now: Instant) {
        peers[index].close(at: now)
        wait(index)
    }

    private mutating func wait(_ index: Int) {
        guard !isWaiting[index] else { return }
        isWaiting[index] = true
        waiting.append(index)
    }

    // MARK: The machine

    mutating func handle(_ datagram: MutableByteView, from path: NetworkPath, at now: Instant) {
        let peerIndex = Int(peerIndices[Self.key(path.local)])
        guard peerIndex >= 0 else { return }
        peers[peerIndex].handle(datagram, from: path, at: now)
        wait(peerIndex)
    }

    mutating func advance(to now: Instant) {
        for index in peers.indices where deadlines[index] <= now {
            peers[index].advance(to: now)
            wait(index)
        }
    }

    mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        while let index = waiting.last {
            if peers[index].poll(into: &batch, at: now) { return true }
            deadlines[index] = peers[index].deadline ?? Self.never
            isWaiting[index] = false
            waiting.removeLast()
        }
        return false
    }

    /// Does nothing, because the peers use UDP only.
    mutating func pathClosed(_ path: NetworkPath, at now: Instant) {}

    var deadline: Instant? {
        guard let next = deadlines.min(), next < Self.never else { return nil }
        return next
    }
}

/// A light peer: a publisher or viewer of the load generator that sends or checks packets, and neither encodes nor
/// decodes media. Thousands of them share one event loop. Its functions are those that `DatagramMachine` requires, for
/// one peer.
protocol LightPeer: AnyObject {
    func handle(_ datagram: MutableByteView, from path: NetworkPath, at now: Instant)
    func advance(to now: Instant)
    /// Appends datagrams to the batch. Returns true if the batch is full and there are more.
    func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool
    func close(at now: Instant)
    var deadline: Instant? { get }
}
