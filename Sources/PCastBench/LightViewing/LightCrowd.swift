import PCastMedia
import PCastWebRTC

/// Light viewers on one loop.
typealias LightAudience = LightCrowd<LightViewer>

/// Light peers on one loop, told apart by the address at which a datagram arrives: by its port, where all have one IP
/// address, or by that, where all have one port.
struct LightCrowd<Peer: LightPeer>: ~Copyable, DatagramMachine {
    private static var never: Instant { Instant(nanoseconds: .max) }

    private(set) var peers: [Peer] = []
    /// By address, which of them; -1 for none.
    private var places = [Int32](repeating: -1, count: 65_536)
    /// Of each peer; one block of memory that is looked through faster than a heap is kept, for hundreds.
    private var deadlines: [Instant] = []
    /// Those that may have something to send, each once.
    private var waiting: [Int] = []
    private var isWaiting: [Bool] = []

    /// What tells them apart is the end of the IP address and the port together, of which there are 65,536.
    private static func key(_ address: TransportAddress) -> Int {
        Int(UInt16(truncatingIfNeeded: address.ip.v4 ?? 0) &+ address.port)
    }

    mutating func add(_ peer: Peer, at address: TransportAddress) {
        places[Self.key(address)] = Int32(peers.count)
        peers.append(peer)
        deadlines.append(Self.never)
        isWaiting.append(false)
        wait(peers.count - 1)
    }

    /// Has something done to each, which may have something to send then.
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

    private mutating func wait(_ index: Int) {
        guard !isWaiting[index] else { return }
        isWaiting[index] = true
        waiting.append(index)
    }

    // MARK: The machine

    mutating func handle(_ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant) {
        let place = Int(places[Self.key(path.local)])
        guard place >= 0 else { return }
        peers[place].handle(datagram, from: path, at: now)
        wait(place)
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

    /// They have datagrams alone.
    mutating func pathClosed(_ path: NetworkPath, at now: Instant) {}

    var deadline: Instant? {
        guard let next = deadlines.min(), next < Self.never else { return nil }
        return next
    }
}
