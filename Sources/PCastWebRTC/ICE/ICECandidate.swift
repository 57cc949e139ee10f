package import PCastCore

/// An ICE candidate: an address at which an agent may be reached (RFC 8445, section 5.1; RFC 6544 for TCP).
package struct ICECandidate: Hashable, Sendable {
    /// The type of a candidate. The raw values are those of SDP.
    package enum Kind: String, Hashable, Sendable {
        /// An address of the host itself.
        case host
        /// The address that a STUN server sees.
        case serverReflexive = "srflx"
        /// The address that the peer sees in a check.
        case peerReflexive = "prflx"
        /// An address of a TURN server.
        case relayed = "relay"
    }

    /// The side of a TCP candidate that opens the connection (RFC 6544, section 4.1).
    package enum TCPType: String, Hashable, Sendable {
        /// The candidate opens the connection.
        case active
        /// The candidate accepts the connection.
        case passive
        /// Both sides open the connection at the same time.
        case simultaneousOpen = "so"
    }

    /// The transport protocol.
    package enum Transport: Hashable, Sendable {
        case udp
        case tcp(TCPType)
    }

    /// The address, or the name of one.
    package enum Address: Hashable, Sendable {
        case ip(IPAddress)

        /// A host name, usually an mDNS name (`.local`) of a browser. It is kept for logs and never resolved, because
        /// the platform is in another network.
        case name(String)
    }

    /// The foundation, which is the same for candidates of one type, base and transport (RFC 8445, section 5.1.1.3).
    package var foundation: String

    /// The component ID, 1 for RTP. RTCP has the same, because it is multiplexed (RFC 5761).
    package var component: Int
    /// The transport protocol.
    package var transport: Transport
    /// The priority (RFC 8445, section 5.1.2).
    package var priority: UInt32
    /// The address or host name.
    package var address: Address
    /// The port.
    package var port: UInt16
    /// The type of the candidate.
    package var kind: Kind

    /// The related address in SDP, which is the base of a reflexive candidate; nil if missing.
    package var related: TransportAddress?

    /// Creates a candidate.
    package init(
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

    /// The address and port; nil for a host name.
    package var transportAddress: TransportAddress? {
        if case .ip(let ip) = address { return TransportAddress(ip: ip, port: port) }
        return nil
    }

    /// Returns a local host candidate. `preference` is the local preference from 0 to 65535, which counts down for less
    /// preferred addresses.
    package static func host(
        _ address: TransportAddress, transport: Transport = .udp, preference: UInt16 = 65535
    ) -> ICECandidate {
        local(.host, address, transport: transport, preference: preference, related: nil)
    }

    /// Returns a local server-reflexive candidate. `address` is the public address of `base`, which a STUN server or
    /// the configuration specifies.
    package static func serverReflexive(
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

    /// Returns the priority of a candidate (RFC 8445, section 5.1.2.1) with the recommended type preferences. TCP
    /// candidates have lower ones than UDP candidates of the same type (RFC 6544, section 4.2).
    package static func priority(
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

    /// Returns the FNV-1a hash of type, base and transport, because the foundation must be the same if these are (RFC
    /// 8445, section 5.1.1.3).
    private static func foundation(_ kind: Kind, base: IPAddress, transport: Transport) -> String {
        var hash: UInt32 = 0x811C_9DC5
        let isTCP = transport != .udp
        for byte in "\(kind.rawValue) \(base) \(isTCP ? "tcp" : "udp")".utf8 {
            hash = (hash ^ UInt32(byte)) &* 0x0100_0193
        }
        return String(hash)
    }
}

/// The text form of a candidate, which is the value of the SDP `candidate` attribute (RFC 8839, section 5.1).
extension ICECandidate: CustomStringConvertible {
    /// The maximum length of an attribute in bytes.
    private static let maximumSize = 1024

    /// Parses `candidate:…`, also with `a=` before it or without `candidate:`, as trickled candidates have it. Unknown
    /// extensions are ignored. Returns nil if the grammar is violated or the transport is neither UDP nor TCP.
    package init?(_ attribute: String) {
        guard attribute.utf8.count <= Self.maximumSize else { return nil }
        var text = attribute[...]
        if text.hasPrefix("a=") { text = text.dropFirst(2) }
        if text.hasPrefix("candidate:") { text = text.dropFirst("candidate:".count) }
        let fields = text.split(whereSeparator: { $0 == " " || $0.isNewline })
        guard fields.count >= 8, (1...32).contains(fields[0].utf8.count), let component = Int(fields[1]),
            (1...256).contains(component), let priority = UInt32(fields[3]), let port = UInt16(fields[5]),
            fields[6] == "typ", let kind = Kind(rawValue: String(fields[7]))
        else { return nil }
        let extensions = Self.extensions(fields.dropFirst(8))
        guard let transport = Self.transport(fields[2], type: extensions.tcpType) else { return nil }
        self.init(
            foundation: String(fields[0]), component: component, transport: transport, priority: priority,
            address: Self.address(fields[4]), port: port, kind: kind, related: extensions.related)
    }

    private static func address(_ text: Substring) -> Address {
        IPAddress(String(text)).map(Address.ip) ?? .name(String(text))
    }

    private static func transport(_ name: Substring, type: Substring?) -> Transport? {
        switch name.lowercased() {
        case "udp": .udp
        case "tcp": type.flatMap { TCPType(rawValue: String($0)) }.map(Transport.tcp)
        default: nil
        }
    }

    /// Returns the related address and the TCP type, each nil if missing.
    private static func extensions(_ fields: ArraySlice<Substring>) -> (related: TransportAddress?, tcpType: Substring?)
    {
        var relatedIP: IPAddress?
        var relatedPort: UInt16?
        var tcpType: Substring?
        var index = fields.startIndex
        while index + 1 < fields.endIndex {
            let value = fields[index + 1]
            switch fields[index] {
            case "raddr": relatedIP = IPAddress(String(value))
            case "rport": relatedPort = UInt16(value)
            case "tcptype": tcpType = value
            default: break
            }
            index += 2
        }
        guard let relatedIP, let relatedPort else { return (nil, tcpType) }
        return (TransportAddress(ip: relatedIP, port: relatedPort), tcpType)
    }

    /// The value of the SDP attribute, `candidate:…`.
    package var description: String {
        let host =
            switch address {
            case .ip(let ip): "\(ip)"
            case .name(let name): name
            }
        let protocolName = if case .udp = transport { "udp" } else { "tcp" }
        var text =
            "candidate:\(foundation) \(component) \(protocolName) \(priority) \(host) \(port) typ \(kind.rawValue)"
        if let related { text += " raddr \(related.ip) rport \(related.port)" }
        if case .tcp(let type) = transport { text += " tcptype \(type.rawValue)" }
        return text
    }
}
