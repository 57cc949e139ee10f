/// A state machine whose input and output are datagrams, such as a connection (`PeerConnection`) or a whole SFU
/// (`SFU`).
///
/// It follows the rules of ``Machine``, but in another form. Input is a datagram in the driver's buffer, which the
/// machine may decrypt in place. Output fills a batch in the driver's memory. Therefore no packet is copied, and none
/// needs an allocation. The event loop of the module `PCastIO` drives every such machine.
public protocol DatagramMachine: ~Copyable, SendableMetatype {
    /// Processes one datagram. The machine may overwrite the bytes until it returns, and must not keep them.
    mutating func handle(_ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant)

    /// Processes one datagram that arrived `waited` before `now`, because time never goes backwards from call to call.
    /// The earlier arrival time is used only for measurements.
    mutating func handle(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, waited: TimeSpan, at now: Instant)

    /// Announces the paths of the next datagrams, in order. It does not change the result. A machine of thousands of
    /// peers may prefetch their memory.
    mutating func expect(from paths: Span<NetworkPath>)

    /// Advances the time. It is called when `deadline` or `earliestDeadline` is reached, and has no effect at other
    /// times.
    mutating func advance(to now: Instant)

    /// Appends pending datagrams to the batch. Returns true if the batch is full and more are pending: the driver then
    /// sends the batch and calls again.
    mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool

    /// Notifies the machine that a TCP connection (ICE-TCP, RFC 6544) was closed by the peer or by an error.
    mutating func pathClosed(_ path: NetworkPath, at now: Instant)

    /// Returns the index of the shard whose peer sent the first datagram of a path; nil if no other shard has the peer.
    /// Several shards share the same addresses.
    func peerShard(of datagram: UnsafeMutableRawBufferPointer) -> Int?

    /// The time at which `advance(to:)` must be called next; nil if the machine waits for events only. Reading it does
    /// not change the result. It is `mutating` because it is read in each iteration, and a nonmutating access would
    /// copy kilobytes.
    var deadline: Instant? { mutating get }

    /// The time from which `advance(to:)` has work to do if the thread is awake anyway. It is before `deadline` if some
    /// work is deferrable, because thousands of peers would otherwise wake the thread one by one.
    var earliestDeadline: Instant? { mutating get }
}

extension DatagramMachine where Self: ~Copyable {
    /// Processes the datagram as one that arrives now.
    public mutating func handle(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, waited: TimeSpan, at now: Instant
    ) { handle(datagram, from: path, at: now) }

    /// Does nothing.
    public mutating func expect(from paths: Span<NetworkPath>) {}

    /// Returns nil.
    public func peerShard(of datagram: UnsafeMutableRawBufferPointer) -> Int? { nil }

    /// The same as `deadline`.
    public var earliestDeadline: Instant? { mutating get { deadline } }
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
