package import PCastCore

/// A machine that tunnels datagrams through a TCP stream. Datagrams that arrive at a local UDP port are sent through
/// the stream, and those of the stream leave from the port. ``Tunnel`` drives it.
package protocol StreamClientMachine: Sendable {
    mutating func connected(at now: Instant)
    mutating func received(_ bytes: [UInt8], at now: Instant)
    mutating func received(datagram: [UInt8], at now: Instant)
    mutating func advance(to now: Instant)
    var deadline: Instant? { get }
    mutating func pollOutput() -> StreamClientOutput?
}

/// An output of a client machine.
package enum StreamClientOutput: Sendable {
    case send([UInt8], mayBeDropped: Bool)
    /// Sends a datagram to the sender of the last one.
    case sendDatagram([UInt8])
    /// The tunnel is ready for datagrams.
    case ready
    /// The tunnel failed. The text is for a log.
    case failed(String)
}
