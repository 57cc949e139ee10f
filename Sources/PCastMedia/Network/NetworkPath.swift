/// The way a datagram takes: which of our addresses, which of theirs, and over what.
///
/// A reply leaves from the address that the request was sent to (IO5), so a path names both ends.
public struct NetworkPath: Hashable, Sendable {
    public enum Transport: Hashable, Sendable {
        case udp

        /// One connection of ICE-TCP, by the number that the event loop gave it; frames as RFC 4571.
        case tcp(connection: UInt32)
    }

    public var transport: Transport
    public var local: TransportAddress
    public var remote: TransportAddress

    public init(transport: Transport = .udp, local: TransportAddress, remote: TransportAddress) {
        self.transport = transport
        self.local = local
        self.remote = remote
    }

    /// By who is at the other end, as hardly two paths of one machine have that in common: paths are looked up for each
    /// datagram.
    public func hash(into hasher: inout Hasher) { hasher.combine(remote) }
}
