public import PCastCore

/// The thread that drives a `DatagramMachine` with its sockets, its clock, and the work of other threads.
///
/// One thread owns all state that packets use, so no locks are necessary. Other threads access the machine through a
/// mailbox. The loop ends when `stop` is called or the object is released.
public final class EventLoop<M: DatagramMachine & ~Copyable>: Sendable {
    /// The addresses of the sockets for datagrams and, if enabled, TCP connections.
    public let boundAddresses: [TransportAddress]

    /// The additional addresses at which only programs of this host can send datagrams and connect.
    public let localOnlyAddresses: [TransportAddress]

    /// Warnings about the sockets for the operator, such as a kernel buffer that is smaller than requested.
    public let warnings: [String]

    /// Warnings about addresses for programs of this host that could not be bound, one sentence each.
    public let localOnlyWarnings: [String]

    /// The datagrams whose processing may be deferred; nil if there are none.
    let deferred: DeferredReceive?

    private let mailbox: LoopMailbox<LoopItem<M>>
    private let thread: WorkerThread

    /// Binds the sockets and starts the thread.
    ///
    /// - Parameters:
    ///   - name: The name of the thread; Linux shows 15 bytes of it.
    ///   - listen: The addresses of the sockets. Port 0 selects a free port, which is the same for all addresses.
    ///   - localOnly: Additional addresses with the same port for programs of this host. The kernel drops what arrives
    ///     from a network. An address that cannot be bound is left out and reported in `localOnlyWarnings`. The bound
    ///     ones are in `localOnlyAddresses`.
    ///   - tcpListen: Whether ICE-TCP connections are also accepted at the same addresses and port (RFC 6544).
    ///   - loops: The number of loops that share the addresses, including this one; see the other initializer.
    ///   - deferred: The datagrams whose processing may be deferred. It has no effect if the kernel cannot select them.
    ///   - makeMachine: Creates the machine from the bound addresses.
    ///   - beforeSending: Called on the loop's thread in each iteration, after the machine has received all input, and
    ///     before its time advances and its output is sent.
    ///   - afterIteration: Called on the loop's thread after each iteration to read events. Output that it causes is
    ///     sent in the same iteration.
    ///   - onAddressChange: Called on the loop's thread with the bound addresses when an interface or address of this
    ///     host changes; nil if that does not matter.
    ///   - onPeerShard: Called on the loop's thread with a connection whose first frame is from a peer of another shard
    ///     (`DatagramMachine.peerShard`). That shard's loop must adopt the connection.
    ///   - isPeer: Returns whether a peer has authenticated itself on an accepted connection. Other connections are
    ///     closed after a timeout, or when others need their place. If it is nil, any frame authenticates a connection.
    /// - Throws: ``IOError``; `.addressInUse` if another socket uses an address, even if it could be shared.
    public convenience init(
        name: String, listen: [TransportAddress], localOnly: [IPAddress] = [], tcpListen: Bool, loops: Int = 1,
        deferred: DeferredReceive? = nil, makeMachine: ([TransportAddress]) -> sending M,
        beforeSending: (@Sendable (inout M, Instant) -> Void)? = nil,
        afterIteration: @escaping @Sendable (inout M, Instant) -> Void,
        onAddressChange: (@Sendable (inout M, [TransportAddress], Instant) -> Void)? = nil,
        onPeerShard: (@Sendable (AcceptedConnection, Int) -> Void)? = nil,
        isPeer: (@Sendable (borrowing M, NetworkPath) -> Bool)? = nil
    ) throws(IOError) {
        var sockets = try LoopSockets(binding: listen, localOnly: localOnly, tcpListen: tcpListen)
        sockets.share(among: loops, deferred: deferred)
        try self.init(
            name: name, sockets: sockets, deferred: deferred, makeMachine: makeMachine, beforeSending: beforeSending,
            afterIteration: afterIteration, onAddressChange: onAddressChange, onPeerShard: onPeerShard, isPeer: isPeer)
    }

    /// Starts a thread that shares the addresses of another loop. `other` is the first loop, which was created with the
    /// number of loops.
    ///
    /// The kernel assigns each remote address to one of the loops, which need not be the one of its peer. Only the
    /// first loop accepts TCP connections.
    ///
    /// - Throws: ``IOError``.
    public convenience init(
        name: String, beside other: EventLoop<M>, makeMachine: ([TransportAddress]) -> sending M,
        beforeSending: (@Sendable (inout M, Instant) -> Void)? = nil,
        afterIteration: @escaping @Sendable (inout M, Instant) -> Void,
        isPeer: (@Sendable (borrowing M, NetworkPath) -> Bool)? = nil
    ) throws(IOError) {
        try self.init(
            name: name,
            sockets: LoopSockets(
                beside: other.boundAddresses, localOnly: other.localOnlyAddresses, hasDeferred: other.deferred != nil),
            deferred: other.deferred, makeMachine: makeMachine, beforeSending: beforeSending,
            afterIteration: afterIteration,
            onAddressChange: nil, onPeerShard: nil, isPeer: isPeer)
    }

    private init(
        name: String, sockets: LoopSockets, deferred: DeferredReceive?,
        makeMachine: ([TransportAddress]) -> sending M, beforeSending: (@Sendable (inout M, Instant) -> Void)?,
        afterIteration: @escaping @Sendable (inout M, Instant) -> Void,
        onAddressChange: (@Sendable (inout M, [TransportAddress], Instant) -> Void)?,
        onPeerShard: (@Sendable (AcceptedConnection, Int) -> Void)?,
        isPeer: (@Sendable (borrowing M, NetworkPath) -> Bool)?
    ) throws(IOError) {
        boundAddresses = sockets.addresses
        localOnlyAddresses = sockets.localOnlyAddresses
        warnings = sockets.udp.compactMap(\.bufferWarning)
        localOnlyWarnings = sockets.unavailable.map { address, error in
            "media from this host is not received on port \(address.port) of its network interfaces: \(error)"
        }
        let deferred = sockets.deferred.isEmpty ? nil : deferred
        self.deferred = deferred
        mailbox = try LoopMailbox()
        let driver = try LoopDriver(
            machine: makeMachine(boundAddresses), sockets: sockets,
            pace: deferred.map { ReceiveCoalescing(interval: $0.interval, timeout: $0.timeout) },
            mailbox: mailbox, beforeSending: beforeSending,
            afterIteration: afterIteration, onAddressChange: onAddressChange, onPeerShard: onPeerShard, isPeer: isPeer)
        thread = try WorkerThread(name: name, precedence: .media) { driver.run() }
    }

    deinit { stop() }

    /// Stops the thread after all submitted work, and closes the sockets before it returns. Further calls have no
    /// effect. On the loop's own thread it does not wait.
    public func stop() {
        mailbox.close()
        thread.join()
    }

    /// Runs `work` on the loop's thread, in the order of the calls, and then polls the machine.
    ///
    /// - Throws: ``IOError/stopped``, or ``IOError/mailboxFull`` if 65,536 items are pending.
    public func submit(_ work: @escaping @Sendable (inout M, Instant) -> Void) throws(IOError) {
        try mailbox.append(.work(work))
    }

    /// Runs `work` like ``submit(_:)``. If such work is frequent, the loop is not woken for each piece, and does it within
    /// four milliseconds. The order of all work is kept.
    ///
    /// - Throws: The errors of `submit`.
    package func submitDeferrable(_ work: @escaping @Sendable (inout M, Instant) -> Void) throws(IOError) {
        try mailbox.append(.work(work), isDeferrable: true)
    }

    /// Runs `body` on the loop's thread and returns its result. Accepted work is done even if the loop is stopped
    /// meanwhile.
    ///
    /// - Throws: The errors of `submit`.
    public func call<R: Sendable>(_ body: @escaping @Sendable (inout M, Instant) -> R) async throws(IOError) -> R {
        try await ask { answer in .work { machine, now in answer(.success(body(&machine, now))) } }
    }

    /// Wakes the loop for an iteration, after which `afterIteration` is called. It never blocks and needs few system calls.
    public func wake() { mailbox.signal() }

    /// Takes over a TCP connection that another shard's loop accepted.
    public func adopt(_ connection: AcceptedConnection) { try? mailbox.append(.adopt(connection)) }

    /// Opens a TCP connection for ICE (active candidates; RFC 6544) and returns its path, which the caller passes to
    /// the machine. `local` is the local address; if it is nil, the kernel selects one.
    ///
    /// - Throws: ``IOError/connectFailed(_:errno:)``, ``IOError/connectTimedOut(_:)`` after ten seconds,
    ///   ``IOError/tooManyConnections(limit:)``, or the errors of `submit`.
    public func connect(
        to remote: TransportAddress, from local: IPAddress? = nil
    ) async throws(IOError) -> NetworkPath {
        try await ask { answer in .connect(remote, from: local, answer) }
    }

    /// Closes a TCP connection that the machine does not need any more, after pending data was written as far as
    /// possible. The machine is not notified.
    public func close(_ path: NetworkPath) { try? mailbox.append(.close(path)) }

    /// Opens another UDP socket of the loop, for a peer that connects from its own port. Port 0 selects a free one.
    ///
    /// - Returns: The address of the socket.
    /// - Throws: ``IOError/tooManyConnections(limit:)`` if 256 are open, the errors of a socket, or those of `submit`.
    package func openSocket(_ address: TransportAddress) async throws(IOError) -> TransportAddress {
        try await ask { answer in .open(address, answer) }
    }

    /// Closes the socket of ``openSocket(_:)`` with a port, after pending datagrams were sent.
    package func closeSocket(port: UInt16) { try? mailbox.append(.closeSocket(port)) }

    /// Returns the counters, which are read on the loop's thread.
    ///
    /// - Throws: The errors of `submit`.
    public func statistics() async throws(IOError) -> EventLoopStatistics {
        try await ask { answer in .statistics { answer(.success($0)) } }
    }

    private func ask<R: Sendable>(
        _ item: (@escaping @Sendable (Result<R, IOError>) -> Void) -> LoopItem<M>
    ) async throws(IOError) -> R {
        let result: Result<R, IOError> = await withCheckedContinuation { continuation in
            do throws(IOError) {
                try mailbox.append(item { continuation.resume(returning: $0) })
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }
}

/// Datagrams that are numerous but not urgent. A loop reads many of them at a time.
///
/// If they are few, they are read as they arrive. If they are many, each one would wake the thread for one or two
/// datagrams, which costs more than processing them. They have their own socket at the same address. Therefore urgent
/// datagrams neither wait for them nor are dropped with them.
public struct DeferredReceive: Hashable, Sendable {
    /// The patterns of these datagrams.
    public let patterns: [DatagramPattern]
    /// The minimum interval between two reads.
    public let interval: TimeSpan
    /// The maximum delay if the thread is not late. They are read earlier if the thread is awake for another reason.
    public let timeout: TimeSpan

    /// Creates a configuration. Traps if there is no pattern, or unless `timeout >= interval > 0`.
    public init(
        _ patterns: [DatagramPattern], interval: TimeSpan = .milliseconds(10), timeout: TimeSpan = .milliseconds(40)
    ) {
        precondition(!patterns.isEmpty && interval > .zero && timeout >= interval)
        self.patterns = patterns
        self.interval = interval
        self.timeout = timeout
    }
}

/// The counters of an event loop since its start.
public struct EventLoopStatistics: Hashable, Sendable {
    /// The number of datagrams and TCP frames that the machine received.
    public var received = 0

    /// The number of datagrams that the kernel accepted, and of frames that the queue of a connection accepted.
    public var sent = 0

    /// The number of datagrams that could not be sent, including errors that only concern one destination.
    public var sendErrors = 0

    /// The number of datagrams and frames that were dropped because a socket or the queue of a TCP connection was full.
    public var sendDrops = 0

    /// The number of messages that the kernel split into datagrams (`UDP_SEGMENT`).
    public var segmentedMessages = 0

    /// The number of datagrams in those messages. Divided by the number of messages, it is the average size of a GSO
    /// batch.
    public var segments = 0

    /// The number of messages that the kernel refused to split. Their datagrams were sent individually.
    public var segmentationRefusals = 0

    /// The number of received messages in which the kernel combined datagrams (`UDP_GRO`).
    public var coalescedMessages = 0

    /// The number of datagrams in those messages.
    public var coalesced = 0

    /// The number of ignored datagrams that were larger than the receive buffer.
    public var truncated = 0

    /// The number of datagrams that the kernel dropped because the receive buffer was full (`SO_RXQ_OVFL`).
    public var kernelDrops = 0

    /// The number of work items that were rejected because the mailbox was full.
    public var mailboxOverflows = 0

    /// The number of open TCP connections.
    public var connections = 0

    /// The number of TCP connections that were closed on arrival because of the limit.
    public var connectionsRefused = 0

    /// Creates counters of zero.
    public init() {}
}

/// The schedule for reading deferrable datagrams. If few arrive, they are read at once. If many arrive, they are read
/// when the thread is awake for another reason, or after a maximum delay.
///
/// Network drivers handle interrupts in the same way (NAPI): if each read returns many packets, no notification is
/// necessary. Waking a thread costs as much as processing several reports. Deferring also helps because the packets
/// that reports request are still cached after a frame was sent.
struct ReceiveCoalescing {
    /// The number of datagrams in a read that counts as many.
    static let many = 8
    /// The number of maximum delays for which timed reading continues after a read of many. Receivers report several
    /// frames at once, so that a read of few may follow a read of many.
    static let memory: Int64 = 5

    /// The minimum interval between two reads.
    let interval: TimeSpan
    /// The maximum delay while many arrive.
    let timeout: TimeSpan

    /// The time of the next read; nil while the kernel notifies about new datagrams.
    private(set) var due: Instant?
    private var lastRead: Instant?
    private var lastMany: Instant?

    init(interval: TimeSpan, timeout: TimeSpan) {
        self.interval = interval
        self.timeout = timeout
    }

    /// Processes the kernel's one notification and sets `due`.
    mutating func arrived(at now: Instant) {
        guard due == nil else { return }
        due = lastRead.map { max(now, $0 + interval) } ?? now
    }

    /// Returns whether a thread that is awake must read now.
    func isDue(at now: Instant) -> Bool {
        guard let due else { return false }
        return now >= due || lastRead.map { now - $0 >= interval } ?? true
    }

    /// Records a read of `count` datagrams and schedules the next one. `hasMore` is whether more may be pending.
    /// Returns whether the kernel must notify again.
    mutating func read(_ count: Int, hasMore: Bool = false, at now: Instant) -> Bool {
        lastRead = now
        if count >= Self.many { lastMany = now }
        let isMuch = lastMany.map { now - $0 < timeout * Self.memory } ?? false
        due = isMuch ? now + (hasMore ? interval : timeout) : nil
        return due == nil
    }
}
