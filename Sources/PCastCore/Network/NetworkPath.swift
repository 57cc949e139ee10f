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
