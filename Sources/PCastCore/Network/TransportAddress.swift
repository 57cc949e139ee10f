/// An IP address and a port (RFC 8489, section 4).
public struct TransportAddress: Hashable, Sendable {
    /// The IP address.
    public var ip: IPAddress
    /// The port.
    public var port: UInt16

    /// Creates a transport address.
    public init(ip: IPAddress, port: UInt16) {
        self.ip = ip
        self.port = port
    }
}

extension TransportAddress: CustomStringConvertible, LosslessStringConvertible {
    /// Parses text such as `127.0.0.1:8189` or `[::1]:8189`; nil for other text.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits) else { return nil }
        var host = text[..<colon]
        if host.first == "[", host.last == "]" {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard let ip = IPAddress(String(host)) else { return nil }
        self.init(ip: ip, port: port)
    }

    /// The address and port, with an IPv6 address in brackets.
    public var description: String { ip.family == .v4 ? "\(ip):\(port)" : "[\(ip)]:\(port)" }
}
