public import PCastMedia

/// A machine whose clients come by streams, and are relayed to UDP ports that are opened for them.
///
/// `TunnelServer` drives it: time is told, one call at a time, and after each what `pollOutput` answers is done.
public protocol StreamServerMachine: Sendable {
    mutating func connected(_ connection: UInt32, from client: TransportAddress, at now: Instant)
    mutating func disconnected(_ connection: UInt32, at now: Instant)
    mutating func received(_ bytes: [UInt8], on connection: UInt32, at now: Instant)
    /// The answer to `open`; nil when there is no port.
    mutating func opened(_ port: UInt16?, on connection: UInt32, at now: Instant)
    /// A datagram came to the connection's port.
    mutating func received(
        _ datagram: [UInt8], from address: TransportAddress, on connection: UInt32, at now: Instant)
    mutating func advance(to now: Instant)
    var deadline: Instant? { get }
    mutating func pollOutput() -> StreamServerOutput?
}

/// What a machine of streams wants to be done.
public enum StreamServerOutput: Sendable {
    /// Bytes for the stream. What may be dropped is, whole, while a slow client has not taken what was written before.
    case send([UInt8], mayBeDropped: Bool, UInt32)
    /// A UDP port, bound to this address of ours.
    case open(IPAddress, UInt32)
    /// A datagram to leave from the connection's port.
    case sendDatagram([UInt8], to: TransportAddress, UInt32)
    /// The connection and its port are done with.
    case close(UInt32)
}
