/// A state machine whose world is datagrams: the whole of a call (`PeerConnection`) or of a router (`Relay`).
///
/// It is a `Machine` in all but shape: input is a datagram in the driver's buffer, which the machine may decrypt in
/// place, and output fills a batch in the driver's memory, so that nothing is allocated or copied for a packet.
/// One event loop (module IO) drives any of them.
public protocol DatagramMachine: ~Copyable, SendableMetatype {
    /// Takes in one datagram. The bytes are the machine's to overwrite until it returns, and not to keep.
    mutating func handle(_ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant)

    /// Takes in one datagram that came earlier than the machine's time can say, for that never goes backwards.
    ///
    /// - Parameter waited: how long before `now` it came. Nothing follows from it but what is measured by it.
    mutating func handle(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, waited: TimeSpan, at now: Instant)

    /// Datagrams from these paths come next, in this order. Nothing follows from it; but a machine of thousands of peers
    /// may have brought near what theirs need.
    mutating func expect(from paths: Span<NetworkPath>)

    /// Lets time pass; called when `deadline` or an `opportunity` has come, and harmless at any other time.
    mutating func advance(to now: Instant)

    /// Appends datagrams that wait to be sent. Answers true when the batch was full and more wait: the driver sends
    /// the batch and calls again.
    mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool

    /// A stream connection (ICE-TCP, RFC 6544) was closed by the other side or by an error.
    mutating func pathClosed(_ path: NetworkPath, at now: Instant)

    /// Which of the machines beside this one has the peer that a stream's first datagram is from, where several have their
    /// peers behind the same addresses; nil for none but this.
    func neighbour(of datagram: UnsafeMutableRawBufferPointer) -> Int?

    /// When `advance(to:)` wants to be called next. Asking changes nothing; but it is asked each turn, and a machine of
    /// kilobytes is not copied for that.
    var deadline: Instant? { mutating get }

    /// From when `advance(to:)` has something to do for a thread that is awake anyway. Before `deadline` where the machine
    /// has what may wait for company: thousands of peers would wake the thread one by one.
    var opportunity: Instant? { mutating get }
}

extension DatagramMachine where Self: ~Copyable {
    public mutating func handle(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, waited: TimeSpan, at now: Instant
    ) { handle(datagram, from: path, at: now) }

    public mutating func expect(from paths: Span<NetworkPath>) {}

    public func neighbour(of datagram: UnsafeMutableRawBufferPointer) -> Int? { nil }

    public var opportunity: Instant? { mutating get { deadline } }
}
