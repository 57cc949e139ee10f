public import PCastCore

/// A machine that relays the streams of its clients to UDP ports, which are opened for them.
///
/// ``TunnelServer`` drives it: it makes one call at a time, passes the time as a parameter, and performs all outputs of
/// `pollOutput` after each call.
public protocol StreamServerMachine: Sendable {
    mutating func connected(_ connection: UInt32, from client: TransportAddress, at now: Instant)
    mutating func disconnected(_ connection: UInt32, at now: Instant)
    mutating func received(_ bytes: [UInt8], on connection: UInt32, at now: Instant)
    /// Passes the result of `open`; `port` is nil if no port could be opened.
    mutating func opened(_ port: UInt16?, on connection: UInt32, at now: Instant)
    /// Passes a datagram that arrived at the connection's port.
    mutating func received(
        _ datagram: [UInt8], from address: TransportAddress, on connection: UInt32, at now: Instant)
    mutating func advance(to now: Instant)
    var deadline: Instant? { get }
    mutating func pollOutput() -> StreamServerOutput?
}

/// An output of a server machine.
public enum StreamServerOutput: Sendable {
    /// Sends bytes on a stream. If they may be dropped, all of them are dropped while a slow client has not received
    /// earlier data.
    case send([UInt8], mayBeDropped: Bool, UInt32)
    /// Opens a UDP port at a local address for a connection.
    case open(IPAddress, UInt32)
    /// Sends a datagram from the connection's port.
    case sendDatagram([UInt8], to: TransportAddress, UInt32)
    /// Closes the connection and its port.
    case close(UInt32)
}
