public import PCastMedia

/// A machine that speaks over one stream, and stands for a UDP address of this machine: what is sent there goes through
/// the stream, and comes back from there. `Tunnel` drives it.
public protocol StreamClientMachine: Sendable {
    mutating func connected(at now: Instant)
    mutating func received(_ bytes: [UInt8], at now: Instant)
    mutating func received(datagram: [UInt8], at now: Instant)
    mutating func advance(to now: Instant)
    var deadline: Instant? { get }
    mutating func pollOutput() -> StreamClientOutput?
}

/// What a machine of one stream wants to be done.
public enum StreamClientOutput: Sendable {
    case send([UInt8], mayBeDropped: Bool)
    /// To whoever sent the last datagram.
    case sendDatagram([UInt8])
    /// Datagrams pass from now on.
    case ready
    /// The tunnel leads nowhere; for a log.
    case failed(String)
}
