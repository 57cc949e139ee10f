import PCastCore
import PCastNetworkEmulation

/// Both directions between clients and servers, with queues that all traffic shares.
struct ImpairedPath {
    /// Data in transit.
    enum Journey {
        case datagram(port: Int, client: TransportAddress, [UInt8])
        /// Bytes of a connection; an empty array is its end.
        case segment(port: Int, connection: Int, [UInt8])
    }

    /// The sizes of the headers: IPv4 with UDP, and IPv4 with TCP.
    private static let datagramOverhead = 28
    private static let segmentOverhead = 40
    /// The largest segment, as on Ethernet.
    static let segmentSize = 1_448

    var up: NetworkLink<Journey>
    var down: NetworkLink<Journey>

    init(_ conditions: NetworkConditions, at now: Instant) {
        up = NetworkLink(conditions.up, seed: conditions.seed, at: now)
        down = NetworkLink(conditions.down, seed: conditions.seed &+ 1, at: now)
    }

    var deadline: Instant? { Instant.earlier(up.deadline, down.deadline) }

    mutating func send(_ journey: Journey, isUp: Bool, at now: Instant) {
        let size: Int
        var isReliable = false
        switch journey {
        case .datagram(_, _, let bytes): size = bytes.count + Self.datagramOverhead
        case .segment(_, _, let bytes):
            size = bytes.count + Self.segmentOverhead
            isReliable = true
        }
        if isUp {
            up.send(journey, size: size, isReliable: isReliable, at: now)
        } else {
            down.send(journey, size: size, isReliable: isReliable, at: now)
        }
    }

    /// Returns whether a direction accepts another segment. TCP waits until it does.
    func hasRoom(isUp: Bool) -> Bool {
        let size = Self.segmentSize + Self.segmentOverhead
        return isUp ? up.hasRoom(for: size) : down.hasRoom(for: size)
    }
}
