import PCastCore
import PCastNetworkEmulation

/// Both directions between clients and servers, with queues that all traffic shares.
struct ImpairedPath {
    /// Data in transit.
    enum Transit {
        case datagram(port: Int, client: TransportAddress, [UInt8])
        /// Bytes of a connection; an empty array is its end.
        case segment(port: Int, connection: Int, [UInt8])
    }

    /// The sizes of the headers: IPv4 with UDP, and IPv4 with TCP.
    private static let datagramOverhead = 28
    private static let segmentOverhead = 40
    /// The largest segment, as on Ethernet.
    static let segmentSize = 1_448

    var up: NetworkLink<Transit>
    var down: NetworkLink<Transit>

    init(_ conditions: NetworkConditions, at now: Instant) {
        up = NetworkLink(conditions.up, seed: conditions.seed, at: now)
        down = NetworkLink(conditions.down, seed: conditions.seed &+ 1, at: now)
    }

    var deadline: Instant? { Instant.earlier(up.deadline, down.deadline) }

    mutating func send(_ transit: Transit, isUp: Bool, at now: Instant) {
        let size: Int
        var isReliable = false
        switch transit {
        case .datagram(_, _, let bytes): size = bytes.count + Self.datagramOverhead
        case .segment(_, _, let bytes):
            size = bytes.count + Self.segmentOverhead
            isReliable = true
        }
        if isUp {
            up.send(transit, size: size, isReliable: isReliable, at: now)
        } else {
            down.send(transit, size: size, isReliable: isReliable, at: now)
        }
    }

    /// Returns whether a direction accepts another segment. TCP waits until it does.
    func hasSpace(isUp: Bool) -> Bool {
        let size = Self.segmentSize + Self.segmentOverhead
        return isUp ? up.hasSpace(for: size) : down.hasSpace(for: size)
    }
}
