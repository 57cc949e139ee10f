/// A state machine whose input and output are datagrams, such as a connection (`PeerConnection`) or a whole SFU
/// (`SFU`).
///
/// It follows the rules of ``Machine``, but in another form. Input is a datagram in the driver's buffer, which the
/// machine may decrypt in place. Output fills a batch in the driver's memory. Therefore no packet is copied, and none
/// needs an allocation. The event loop of the module `PCastIO` drives every such machine.
public protocol DatagramMachine: ~Copyable, SendableMetatype {
    /// Processes one datagram. The machine may overwrite the bytes until it returns, and must not keep them.
    mutating func handle(_ datagram: MutableByteView, from path: NetworkPath, at now: Instant)

    /// Processes one datagram that arrived `waited` before `now`, because time never goes backwards from call to call.
    /// The earlier arrival time is used only for measurements.
    mutating func handle(
        _ datagram: MutableByteView, from path: NetworkPath, waited: TimeSpan, at now: Instant)

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
    func peerShard(of datagram: MutableByteView) -> Int?

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
        _ datagram: MutableByteView, from path: NetworkPath, waited: TimeSpan, at now: Instant
    ) { handle(datagram, from: path, at: now) }

    /// Does nothing.
    public mutating func expect(from paths: Span<NetworkPath>) {}

    /// Returns nil.
    public func peerShard(of datagram: MutableByteView) -> Int? { nil }

    /// The same as `deadline`.
    public var earliestDeadline: Instant? { mutating get { deadline } }
}

/// A kind of datagram, recognized by the masked value of its first two bytes.
public struct DatagramPattern: Hashable, Sendable {
    /// The bits to compare. The first byte is the upper one.
    public let mask: UInt16
    /// The required value of these bits.
    public let value: UInt16

    /// Creates a pattern. Traps if `value` has a bit that `mask` does not have, because no datagram would match.
    public init(mask: UInt16, value: UInt16) {
        precondition(value & ~mask == 0, "the pattern must be satisfiable")
        self.mask = mask
        self.value = value
    }

    /// Returns whether a datagram matches. A datagram of less than two bytes does not.
    public func matches(_ datagram: Span<UInt8>) -> Bool {
        datagram.count > 1 && (UInt16(datagram[0]) << 8 | UInt16(datagram[1])) & mask == value
    }
}
