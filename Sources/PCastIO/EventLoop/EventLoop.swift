public import PCastMedia

/// The thread that drives a `DatagramMachine`: its sockets, its clock, and the work that others have for it.
///
/// One thread owns everything that packets touch, so nothing of that is locked; what others want of the machine goes
/// through a mailbox. The loop ends by `stop`, or when it is released.
public final class EventLoop<M: DatagramMachine & ~Copyable>: Sendable {
    /// Where datagrams are received, and streams where they are.
    public let boundAddresses: [TransportAddress]

    /// Further addresses, at which datagrams and streams of programs of this machine are received, and no others.
    public let localOnlyAddresses: [TransportAddress]

    /// What the operator should know about the sockets, in sentences: buffers that are smaller than asked for (IO9).
    public let warnings: [String]

    /// Why addresses for programs of this machine are missing, a sentence each.
    public let localOnlyWarnings: [String]

    /// What may wait; nil where nothing does.
    let patient: PatientDatagrams?

    private let mailbox: LoopMailbox<LoopItem<M>>
    private let thread: WorkerThread

    /// Binds the sockets and starts the thread.
    ///
    /// - Parameters:
    ///   - name: the thread's; Linux shows 15 bytes of it.
    ///   - listen: the addresses of the sockets. Port 0 takes a free one; all sockets have the first one's number.
    ///   - localOnly: further addresses, with the same port, at which only programs of this machine are heard. What comes
    ///     from a network is dropped by the kernel, and not answered. An address that cannot be bound is left out, which
    ///     `localOnlyWarnings` says; those that were bound are `localOnlyAddresses`.
    ///   - tcpListen: also accept ICE-TCP connections on the same addresses and number (RFC 6544).
    ///   - loops: how many will have the same addresses, this one included; see the other initializer.
    ///   - patient: datagrams that may wait, where the kernel tells them from others; elsewhere none does.
    ///   - makeMachine: makes the machine, told the bound addresses.
    ///   - beforeSending: called on the loop's thread in each turn, when what has come was told to the machine, before its
    ///     time passes and what it has is sent.
    ///   - afterTurn: called on the loop's thread after each turn, to take events out; what it has the machine send
    ///     is sent in the same turn.
    ///   - onAddressChange: called on the loop's thread when an interface or an address of this machine came, changed
    ///     or went, with the bound addresses; nil where that matters to nobody.
    ///   - onNeighbour: called on the loop's thread with a connection whose first frame is of a neighbour's peer
    ///     (`DatagramMachine.neighbour`); it is that loop's from then on (`adopt`).
    ///   - isPeer: whether a peer has authenticated itself on a connection that was accepted; others are closed after a
    ///     while, and make room where there is none. Nil takes every connection on which anything comes for a peer's.
    /// - Throws: `IOError`; `.addressInUse` when anyone else has an address, even where sharing it would be possible.
    public convenience init(
        name: String, listen: [TransportAddress], localOnly: [IPAddress] = [], tcpListen: Bool, loops: Int = 1,
        patient: PatientDatagrams? = nil, makeMachine: ([TransportAddress]) -> sending M,
        beforeSending: (@Sendable (inout M, Instant) -> Void)? = nil,
        afterTurn: @escaping @Sendable (inout M, Instant) -> Void,
        onAddressChange: (@Sendable (inout M, [TransportAddress], Instant) -> Void)? = nil,
        onNeighbour: (@Sendable (ArrivedConnection, Int) -> Void)? = nil,
        isPeer: (@Sendable (borrowing M, NetworkPath) -> Bool)? = nil
    ) throws(IOError) {
        var sockets = try LoopSockets(binding: listen, localOnly: localOnly, tcpListen: tcpListen)
        sockets.share(among: loops, patient: patient)
        try self.init(
            name: name, sockets: sockets, patient: patient, makeMachine: makeMachine, beforeSending: beforeSending,
            afterTurn: afterTurn, onAddressChange: onAddressChange, onNeighbour: onNeighbour, isPeer: isPeer)
    }

    /// Starts a thread beside that of a loop that shares its addresses: each sender's datagrams come to one of them, by a
    /// choice of the kernel's, which is not whose peer the sender is. Connections come to the first.
    ///
    /// - Parameter other: the first loop, which was told how many there will be.
    /// - Throws: `IOError`.
    public convenience init(
        name: String, beside other: EventLoop<M>, makeMachine: ([TransportAddress]) -> sending M,
        beforeSending: (@Sendable (inout M, Instant) -> Void)? = nil,
        afterTurn: @escaping @Sendable (inout M, Instant) -> Void,
        isPeer: (@Sendable (borrowing M, NetworkPath) -> Bool)? = nil
    ) throws(IOError) {
        try self.init(
            name: name,
            sockets: LoopSockets(
                beside: other.boundAddresses, localOnly: other.localOnlyAddresses, hasPatient: other.patient != nil),
            patient: other.patient, makeMachine: makeMachine, beforeSending: beforeSending, afterTurn: afterTurn,
            onAddressChange: nil, onNeighbour: nil, isPeer: isPeer)
    }

    private init(
        name: String, sockets: LoopSockets, patient: PatientDatagrams?,
        makeMachine: ([TransportAddress]) -> sending M, beforeSending: (@Sendable (inout M, Instant) -> Void)?,
        afterTurn: @escaping @Sendable (inout M, Instant) -> Void,
        onAddressChange: (@Sendable (inout M, [TransportAddress], Instant) -> Void)?,
        onNeighbour: (@Sendable (ArrivedConnection, Int) -> Void)?,
        isPeer: (@Sendable (borrowing M, NetworkPath) -> Bool)?
    ) throws(IOError) {
        boundAddresses = sockets.addresses
        localOnlyAddresses = sockets.localOnlyAddresses
        warnings = sockets.udp.compactMap(\.bufferWarning)
        localOnlyWarnings = sockets.unavailable.map { address, error in
            "Programs of this machine are not heard at port \(address.port) of its interfaces: \(error)"
        }
        let patient = sockets.patient.isEmpty ? nil : patient
        self.patient = patient
        mailbox = try LoopMailbox()
        let driver = try LoopDriver(
            machine: makeMachine(boundAddresses), sockets: sockets,
            pace: patient.map { ReadingPace(interval: $0.interval, patience: $0.patience) },
            mailbox: mailbox, beforeSending: beforeSending,
            afterTurn: afterTurn, onAddressChange: onAddressChange, onNeighbour: onNeighbour, isPeer: isPeer)
        thread = try WorkerThread(name: name, precedence: .media) { driver.run() }
    }

    deinit { stop() }

    /// Ends the thread after what was submitted is done, and closes the sockets before it returns. Harmless when
    /// called again; on the loop's own thread it does not wait.
    public func stop() {
        mailbox.close()
        thread.join()
    }

    /// Has `work` done on the loop's thread, in the order of the calls; then the machine is polled.
    ///
    /// - Throws: `IOError.stopped`, or `IOError.mailboxFull` when 65,536 pieces of work wait already.
    public func submit(_ work: @escaping @Sendable (inout M, Instant) -> Void) throws(IOError) {
        try mailbox.append(.work(work))
    }

    /// Has `body` done on the loop's thread, and waits for its result.
    ///
    /// - Throws: as `submit`. What was accepted is done, also when the loop is stopped meanwhile.
    public func call<R: Sendable>(_ body: @escaping @Sendable (inout M, Instant) -> R) async throws(IOError) -> R {
        try await ask { answer in .work { machine, now in answer(.success(body(&machine, now))) } }
    }

    /// Has the loop make a turn, and what is called after it. Never waits for anybody; a few system calls at most.
    public func wake() { mailbox.ring() }

    /// Takes over a connection that came to a neighbour.
    public func adopt(_ connection: ArrivedConnection) { try? mailbox.append(.adopt(connection)) }

    /// Opens a TCP connection for ICE (RFC 6544, active candidates); its path is to be told to the machine.
    ///
    /// - Parameter local: the address to leave from; the kernel chooses where there is none.
    /// - Throws: `IOError.connectFailed`, `.connectTimedOut` after ten seconds, `.tooManyConnections`, or as `submit`.
    public func connect(
        to remote: TransportAddress, from local: IPAddress? = nil
    ) async throws(IOError) -> NetworkPath {
        try await ask { answer in .connect(remote, from: local, answer) }
    }

    /// Closes a TCP connection that the machine does not need any more, once what waits is written as far as it can
    /// be. The machine is not told.
    public func close(_ path: NetworkPath) { try? mailbox.append(.close(path)) }

    /// What was counted, as of a moment on the loop's thread.
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
