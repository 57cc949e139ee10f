public import PCastMedia

/// One address at which an agent may be reached (RFC 8445, section 5.1; RFC 6544 for TCP).
public struct ICECandidate: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable {
        case host
        case serverReflexive = "srflx"
        case peerReflexive = "prflx"
        case relayed = "relay"
    }

    /// Which end of a TCP candidate opens the connection (RFC 6544, section 4.1).
    public enum TCPType: String, Hashable, Sendable {
        case active
        case passive
        case simultaneousOpen = "so"
    }

    public enum Transport: Hashable, Sendable {
        case udp
        case tcp(TCPType)
    }

    public enum Address: Hashable, Sendable {
        case ip(IPAddress)

        /// A name, mostly a browser's `.local` one (mDNS). It is kept for the log, and never resolved (ICE8).
        case name(String)
    }

    public var foundation: String

    /// 1 for RTP, and for RTCP too, since all is multiplexed here.
    public var component: Int
    public var transport: Transport
    public var priority: UInt32
    public var address: Address
    public var port: UInt16
    public var kind: Kind

    /// The base of a reflexive candidate, as it says.
    public var related: TransportAddress?

    public init(
        foundation: String, component: Int = 1, transport: Transport, priority: UInt32, address: Address, port: UInt16,
        kind: Kind, related: TransportAddress? = nil
    ) {
        self.foundation = foundation
        self.component = component
        self.transport = transport
        self.priority = priority
        self.address = address
        self.port = port
        self.kind = kind
        self.related = related
    }

    /// Where to send to; nil for a name.
    public var transportAddress: TransportAddress? {
        if case .ip(let ip) = address { return TransportAddress(ip: ip, port: port) }
        return nil
    }

    /// A host candidate of ours. Addresses listed first are preferred: `preference` counts down from 65535.
    public static func host(
        _ address: TransportAddress, transport: Transport = .udp, preference: UInt16 = 65535
    ) -> ICECandidate {
        local(.host, address, transport: transport, preference: preference, related: nil)
    }

    /// A server-reflexive candidate of ours: `address` is what a STUN server or a mapping says of `base`.
    public static func serverReflexive(
        _ address: TransportAddress, base: TransportAddress, preference: UInt16 = 65535
    ) -> ICECandidate {
        local(.serverReflexive, address, transport: .udp, preference: preference, related: base)
    }

    private static func local(
        _ kind: Kind, _ address: TransportAddress, transport: Transport, preference: UInt16, related: TransportAddress?
    ) -> ICECandidate {
        ICECandidate(
            foundation: foundation(kind, base: (related ?? address).ip, transport: transport), transport: transport,
            priority: priority(kind, transport: transport, preference: preference), address: .ip(address.ip),
            port: address.port, kind: kind, related: related)
    }

    /// RFC 8445, section 5.1.2.1, with the type preferences recommended there. TCP stands below every kind of UDP of
    /// its rank (RFC 6544, section 4.2; ICE14).
    public static func priority(
        _ kind: Kind, transport: Transport, preference: UInt16 = 65535, component: Int = 1
    ) -> UInt32 {
        precondition((1...256).contains(component))
        let typePreference: UInt32
        let localPreference: UInt32
        switch transport {
        case .udp:
            typePreference =
                switch kind {
                case .host: 126
                case .peerReflexive: 110
                case .serverReflexive: 100
                case .relayed: 2
                }
            localPreference = UInt32(preference)
        case .tcp(let type):
            typePreference =
                switch kind {
                case .host: 90
                case .peerReflexive: 80
                case .serverReflexive: 70
                case .relayed: 1
                }
            let direction: UInt32 =
                switch type {
                case .active: 6
                case .passive: 4
                case .simultaneousOpen: 2
                }
            localPreference = direction << 13 | UInt32(preference >> 3)
        }
        return typePreference << 24 | localPreference << 8 | UInt32(256 - component)
    }

    /// The same for candidates of one kind, base and transport (RFC 8445, section 5.1.1.3): FNV-1a of the three.
    private static func foundation(_ kind: Kind, base: IPAddress, transport: Transport) -> String {
        var hash: UInt32 = 0x811C_9DC5
        let isTCP = transport != .udp
        for byte in "\(kind.rawValue) \(base) \(isTCP ? "tcp" : "udp")".utf8 {
            hash = (hash ^ UInt32(byte)) &* 0x0100_0193
        }
        return String(hash)
    }
}
