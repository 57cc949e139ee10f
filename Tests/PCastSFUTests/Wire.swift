import PCastCore
import PCastNetworkEmulation

/// Both directions of a link between peers and the SFU.
final class Wire {
    struct Flight {
        let peer: any NetworkPeer
        /// The path as the receiver sees it.
        let path: NetworkPath
        let bytes: [UInt8]
    }

    /// The headers of IPv4 and UDP. A TCP segment also has the length before each packet (RFC 4571).
    private static let datagramOverhead = 28
    private static let segmentOverhead = 42

    /// The peer whose link conditions apply.
    private let owner: any NetworkPeer
    var up: NetworkLink<Flight>
    var down: NetworkLink<Flight>

    init(of owner: any NetworkPeer, seed: UInt64, at now: Instant) {
        self.owner = owner
        up = NetworkLink(owner.link.up, seed: seed, at: now)
        down = NetworkLink(owner.link.down, seed: seed &+ 1, at: now)
    }

    var deadline: Instant? { Instant.earlier(up.deadline, down.deadline) }

    func refresh() {
        let link = owner.link
        if up.conditions != link.up { up.conditions = link.up }
        if down.conditions != link.down { down.conditions = link.down }
    }

    func send(_ flight: Flight, isUp: Bool, isReliable: Bool, at now: Instant) {
        refresh()
        let size = flight.bytes.count + (isReliable ? Self.segmentOverhead : Self.datagramOverhead)
        if isUp {
            up.send(flight, size: size, isReliable: isReliable, at: now)
        } else {
            down.send(flight, size: size, isReliable: isReliable, at: now)
        }
    }
}
