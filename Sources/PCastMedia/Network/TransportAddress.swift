/// An IP address and a port (RFC 8489's noun).
public struct TransportAddress: Hashable, Sendable {
    public var ip: IPAddress
    public var port: UInt16

    public init(ip: IPAddress, port: UInt16) {
        self.ip = ip
        self.port = port
    }
}

extension TransportAddress: CustomStringConvertible, LosslessStringConvertible {
    /// Reads `127.0.0.1:8189` and `[::1]:8189`.
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

    public var description: String { ip.family == .v4 ? "\(ip):\(port)" : "[\(ip)]:\(port)" }
}
