import PCastCore

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
