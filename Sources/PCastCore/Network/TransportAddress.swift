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

/// The path of a datagram: the local address, the remote address and the transport.
///
/// A reply must leave from the address to which the request was sent, so a path includes both addresses. Otherwise a
/// multihomed host replies from another address, which NATs and ICE (RFC 8445, section 7.3.1.1) do not accept.
public struct NetworkPath: Hashable, Sendable {
    /// The transport of a path.
    public enum Transport: Hashable, Sendable {
        case udp

        /// One connection of ICE-TCP, with the number that the event loop assigned. Each packet is framed according to
        /// RFC 4571.
        case tcp(connection: UInt32)
    }

    /// The transport.
    public var transport: Transport
    /// The local address.
    public var local: TransportAddress
    /// The remote address.
    public var remote: TransportAddress

    /// Creates a path from its transport and addresses.
    public init(transport: Transport = .udp, local: TransportAddress, remote: TransportAddress) {
        self.transport = transport
        self.local = local
        self.remote = remote
    }

    /// Hashes the remote address only. Paths are looked up for each datagram, and few paths of a host share the remote
    /// address.
    public func hash(into hasher: inout Hasher) { hasher.combine(remote) }
}
