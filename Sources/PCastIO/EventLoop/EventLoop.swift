import CLinux
import Glibc
public import PCastMedia

/// The thread that drives a `DatagramMachine`: its sockets, its clock, and the work that others have for it.
///
/// One thread owns everything that is touched by packets, so nothing of it is locked. A turn takes in what has come, at
/// most a few batches, lets the machine's time pass when its deadline has come, sends what the machine has, and tells
/// `afterTurn`, by which events leave.
///
/// It lives until `stop` is called. Unchecked: the state of the thread, below, is used by the loop's own thread only, from its start on.
public final class EventLoop<M: DatagramMachine & ~Copyable>: @unchecked Sendable {
    private enum Item: Sendable {
        case work(@Sendable (inout M, Instant) -> Void)
        case connect(TransportAddress, @Sendable (Result<NetworkPath, IOError>) -> Void)
        case close(NetworkPath)
    }

    private enum Token {
        static var mailbox: UInt64 { 0 }
        static var sockets: UInt64 { 1 << 32 }
        static var listeners: UInt64 { 2 << 32 }
        static var connections: UInt64 { 3 << 32 }
    }

    /// Batches taken from a socket before what they caused is sent (FAN1).
    private static var batchesPerTurn: Int { 4 }
    private static var socketBufferSize: Int { 4 * 1024 * 1024 }
    private static var connectionLimit: Int { 4096 }
    /// A connection on which no frame has come by then is closed.
    private static var firstFrameTimeout: TimeSpan { .seconds(30) }
    private static var connectTimeout: TimeSpan { .seconds(10) }

    /// Where datagrams are received.
    public let boundAddresses: [TransportAddress]

    private let sockets: [UDPSocket]
    private let listeners: [TCPListener]
    private let mailbox: LoopMailbox<Item>
    private let poller: Descriptor
    private let afterTurn: @Sendable (inout M, Instant) -> Void
    private var thread: WorkerThread?

    // MARK: Thread state

    private var machine: M
    private var batch = DatagramBatch()
    private var receiver = DatagramReceiver()
    private var sender = DatagramSender()
    private var connections: [UInt32: TCPConnection] = [:]
    private var nextConnection: UInt32 = 1
    private var dirtyConnections: [UInt32] = []
    private var counts = EventLoopStatistics()

    /// Binds the sockets and starts the thread.
    ///
    /// - Parameters:
    ///   - listen: the addresses of the sockets. Port 0 takes a free one; all sockets have the first one's number.
    ///   - tcpListen: also accept ICE-TCP connections on the same addresses and number (RFC 6544).
    ///   - makeMachine: makes the machine, told the bound addresses.
    ///   - afterTurn: called on the loop's thread after each turn, to take events out.
    public init(
        name: String, listen: [TransportAddress], tcpListen: Bool,
        makeMachine: ([TransportAddress]) -> sending M,
        afterTurn: @escaping @Sendable (inout M, Instant) -> Void
    ) throws(IOError) {
        (sockets, listeners) = try Self.bind(listen, tcpListen: tcpListen)
        boundAddresses = sockets.map(\.address)
        mailbox = try LoopMailbox()
        poller = try Descriptor(clinux_epoll_create(), from: "epoll_create1")
        machine = makeMachine(boundAddresses)
        self.afterTurn = afterTurn
        watch(mailbox.number, Token.mailbox)
        for (index, socket) in sockets.enumerated() { watch(socket.number, Token.sockets + UInt64(index)) }
        for (index, listener) in listeners.enumerated() { watch(listener.number, Token.listeners + UInt64(index)) }
        // The running thread keeps the loop alive, until `stop`.
        let loop = Unmanaged.passUnretained(self)
        thread = try WorkerThread(name: name) { loop.takeUnretainedValue().run() }
    }

    deinit { stop() }

    /// Ends the thread after what was submitted is done, and closes the sockets. Harmless when called again.
    public func stop() {
        _ = mailbox.close()
        thread?.join()
    }

    // MARK: From other threads

    /// Has `work` done on the loop's thread.
    ///
    /// - Throws: `IOError.stopped`, or `IOError.mailboxFull` when 65,536 pieces of work wait already.
    public func submit(_ work: @escaping @Sendable (inout M, Instant) -> Void) throws(IOError) {
        try mailbox.append(.work(work))
    }

    /// Has `body` done on the loop's thread, and waits for its result.
    public func call<R: Sendable>(_ body: @escaping @Sendable (inout M, Instant) -> R) async throws(IOError) -> R {
        let result: Result<R, IOError> = await withCheckedContinuation { continuation in
            do throws(IOError) {
                try mailbox.append(
                    .work { machine, now in continuation.resume(returning: .success(body(&machine, now))) })
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    /// Opens a TCP connection for ICE; its path is to be told to the machine.
    public func connect(to address: TransportAddress) async throws(IOError) -> NetworkPath {
        let result: Result<NetworkPath, IOError> = await withCheckedContinuation { continuation in
            do throws(IOError) {
                try mailbox.append(.connect(address) { continuation.resume(returning: $0) })
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    /// Closes a TCP connection that the machine does not need any more.
    public func close(_ path: NetworkPath) { try? mailbox.append(.close(path)) }

    /// What was counted, as of a moment on the loop's thread.
    public func statistics() async throws(IOError) -> EventLoopStatistics {
        try await call { [self] _, _ in currentStatistics() }
    }

    private func currentStatistics() -> EventLoopStatistics {
        var result = counts
        result.sent += sender.counts.sent
        result.sendErrors += sender.counts.errors + sender.counts.tooLarge
        result.sendDrops += sender.counts.dropped
        result.segmentedMessages = sender.counts.segmentedMessages
        result.segments = sender.counts.segments
        result.mailboxOverflows = mailbox.overflows
        return result
    }

    // MARK: Binding

    private static func bind(
        _ addresses: [TransportAddress], tcpListen: Bool
    ) throws(IOError) -> ([UDPSocket], [TCPListener]) {
        precondition(!addresses.isEmpty, "an event loop listens somewhere")
        // A free UDP port need not be free for TCP: then another one is taken.
        for attempt in 0..<16 {
            do {
                return try bindAll(addresses, tcpListen: tcpListen)
            } catch {
                guard addresses[0].port == 0, case .addressInUse = error, attempt < 15 else { throw error }
            }
        }
        fatalError("the last attempt returns or throws")
    }

    private static func bindAll(
        _ addresses: [TransportAddress], tcpListen: Bool
    ) throws(IOError) -> ([UDPSocket], [TCPListener]) {
        var sockets: [UDPSocket] = []
        var listeners: [TCPListener] = []
        for var address in addresses {
            if address.port == 0, let first = sockets.first { address.port = first.address.port }
            let socket = try UDPSocket(binding: address, bufferSize: socketBufferSize)
            sockets.append(socket)
            if tcpListen { listeners.append(try TCPListener(binding: socket.address)) }
        }
        return (sockets, listeners)
    }

    private func watch(_ descriptor: Int32, _ token: UInt64) {
        let result = clinux_epoll_control(
            poller.number, Int32(CLINUX_ADD), descriptor, UInt32(CLINUX_READABLE), token)
        precondition(result == 0, "epoll watches a descriptor of ours")
    }

    // MARK: The thread

    private func run() {
        withUnsafeTemporaryAllocation(of: clinux_event.self, capacity: Int(CLINUX_EVENTS_PER_WAIT)) { ready in
            var isClosed = false
            while !isClosed {
                let count = clinux_epoll_wait(poller.number, ready.baseAddress, waitNanoseconds())
                var now = MonotonicClock.now()
                let mail = mailbox.take()
                isClosed = mail.isClosed
                for index in 0..<max(0, Int(count)) { handle(ready[index], at: now) }
                for item in mail.items { perform(item, at: now) }
                if let deadline = machine.deadline, now >= deadline { machine.advance(to: now) }
                if !connections.isEmpty { closeExpired(at: now) }
                sendAll(at: now)
                now = MonotonicClock.now()
                afterTurn(&machine, now)
                sendAll(at: now)
            }
        }
        for connection in connections.values { fail(connection, .stopped) }
        connections.removeAll()
    }

    /// Until something is due; negative for nothing.
    private func waitNanoseconds() -> Int64 {
        var deadline = machine.deadline
        for connection in connections.values {
            if case .open = connection.phase { continue }
            deadline = Instant.earlier(deadline, connection.deadline)
        }
        guard let deadline else { return -1 }
        return max(0, (deadline - MonotonicClock.now()).nanoseconds)
    }

    private func handle(_ event: clinux_event, at now: Instant) {
        let index = Int(event.token & 0xFFFF_FFFF)
        switch event.token >> 32 {
        case 1: receive(from: sockets[index], at: now)
        case 2: accept(from: listeners[index], at: now)
        case 3: handle(connection: UInt32(index), event.events, at: now)
        default: break
        }
    }

    private func perform(_ item: Item, at now: Instant) {
        switch item {
        case .work(let work): work(&machine, now)
        case .connect(let address, let done): connect(to: address, at: now, done)
        case .close(let path):
            guard case .tcp(let number) = path.transport else { return }
            if let connection = connections[number] { flush(connection) }
            connections[number] = nil
        }
    }

    private func receive(from socket: UDPSocket, at now: Instant) {
        for _ in 0..<Self.batchesPerTurn {
            let count = receiver.receive(from: socket)
            for index in 0..<count {
                guard let datagram = receiver.datagram(index) else { continue }
                counts.kernelDrops = max(counts.kernelDrops, Int(datagram.drops))
                guard !datagram.isTruncated, !datagram.bytes.isEmpty else {
                    counts.truncated += 1
                    continue
                }
                counts.received += 1
                let local = TransportAddress(ip: datagram.local ?? socket.address.ip, port: socket.address.port)
                machine.handle(datagram.bytes, from: NetworkPath(local: local, remote: datagram.remote), at: now)
            }
            if count < DatagramReceiver.batchSize { return }
            // What was received may be waited for: send before receiving more.
            sendAll(at: now)
        }
    }

    private func sendAll(at now: Instant) {
        var hasMore = true
        while hasMore {
            hasMore = machine.poll(into: &batch, at: now)
            guard !batch.isEmpty else { break }
            sender.send(batch, over: sockets, at: now)
            if !connections.isEmpty { appendFrames() }
            batch.removeAll()
        }
        for number in dirtyConnections {
            guard let connection = connections[number] else { continue }
            connection.isDirty = false
            if !flush(connection) { closed(connection, at: now) }
        }
        dirtyConnections.removeAll(keepingCapacity: true)
    }
}

// MARK: - Stream connections (RFC 6544)

extension EventLoop where M: ~Copyable {
    private func appendFrames() {
        for index in 0..<batch.count {
            let entry = batch[index]
            guard case .tcp(let number) = entry.path.transport else { continue }
            guard let connection = connections[number], connection.append(batch.bytes(of: entry)) else {
                counts.sendDrops += 1
                continue
            }
            counts.sent += 1
            if !connection.isDirty {
                connection.isDirty = true
                dirtyConnections.append(number)
            }
        }
    }

    /// Writes what the socket takes, and has the poller watch for more room where something is left.
    @discardableResult
    private func flush(_ connection: TCPConnection) -> Bool {
        if case .connecting = connection.phase { return true }
        guard connection.flush() else { return false }
        if connection.hasPendingBytes != connection.watchesWritability {
            connection.watchesWritability = connection.hasPendingBytes
            setInterest(connection)
        }
        return true
    }

    private func setInterest(_ connection: TCPConnection) {
        guard case .tcp(let number) = connection.path.transport else { return }
        let events =
            CLINUX_READABLE | (connection.watchesWritability ? CLINUX_WRITABLE : 0)
        _ = clinux_epoll_control(
            poller.number, Int32(CLINUX_CHANGE), connection.descriptor.number, UInt32(events),
            Token.connections + UInt64(number))
    }

    private func accept(from listener: TCPListener, at now: Instant) {
        while let descriptor = listener.accept() {
            guard connections.count < Self.connectionLimit,
                let local = SocketAddress.ask(descriptor.number, getsockname),
                let remote = SocketAddress.ask(descriptor.number, getpeername)
            else { continue }
            add(
                descriptor, local: local, remote: remote, phase: .awaitingFirstFrame,
                deadline: now + Self.firstFrameTimeout)
        }
    }

    @discardableResult
    private func add(
        _ descriptor: Descriptor, local: TransportAddress, remote: TransportAddress, phase: TCPConnection.Phase,
        deadline: Instant
    ) -> TCPConnection {
        let number = nextConnection
        nextConnection &+= 1
        let path = NetworkPath(transport: .tcp(connection: number), local: local, remote: remote)
        let connection = TCPConnection(descriptor, path: path, phase: phase, deadline: deadline)
        connections[number] = connection
        watch(descriptor.number, Token.connections + UInt64(number))
        if connection.watchesWritability { setInterest(connection) }
        return connection
    }

    private func connect(
        to address: TransportAddress, at now: Instant,
        _ done: @escaping @Sendable (Result<NetworkPath, IOError>) -> Void
    ) {
        guard connections.count < Self.connectionLimit else {
            return done(.failure(.tooManyConnections(limit: Self.connectionLimit)))
        }
        do {
            let descriptor = try Descriptor.socket(address.ip.family, CLINUX_SOCK_STREAM)
            let result = SocketAddress.with(address) { Glibc.connect(descriptor.number, $0, $1) }
            guard result == 0 || Errno.current == EINPROGRESS else {
                return done(.failure(.connectFailed(address, errno: Errno.current)))
            }
            let local = SocketAddress.ask(descriptor.number, getsockname) ?? boundAddresses[0]
            add(
                descriptor, local: local, remote: address, phase: .connecting(done),
                deadline: now + Self.connectTimeout)
        } catch {
            done(.failure(error))
        }
    }

    private func handle(connection number: UInt32, _ events: UInt32, at now: Instant) {
        guard let connection = connections[number] else { return }
        if case .connecting(let done) = connection.phase {
            let error = connection.connectError()
            guard error == 0 else {
                connections[number] = nil
                return done(.failure(.connectFailed(connection.path.remote, errno: error)))
            }
            connection.phase = .open
            connection.watchesWritability = false
            setInterest(connection)
            return done(.success(connection.path))
        }
        if events & UInt32(CLINUX_WRITABLE) != 0, !flush(connection) { return closed(connection, at: now) }
        if events & UInt32(CLINUX_READABLE | CLINUX_BROKEN) != 0 { read(connection, at: now) }
    }

    private func read(_ connection: TCPConnection, at now: Instant) {
        switch connection.read() {
        case .nothing: return
        case .end: return closed(connection, at: now)
        case .some: break
        }
        while true {
            switch connection.nextFrame() {
            case .frame(let frame):
                if case .awaitingFirstFrame = connection.phase { connection.phase = .open }
                counts.received += 1
                machine.handle(frame, from: connection.path, at: now)
            case .incomplete: return
            case .oversize: return closed(connection, at: now)
            }
        }
    }

    private func closed(_ connection: TCPConnection, at now: Instant) {
        guard case .tcp(let number) = connection.path.transport, connections.removeValue(forKey: number) != nil else {
            return
        }
        machine.pathClosed(connection.path, at: now)
    }

    private func closeExpired(at now: Instant) {
        for connection in connections.values where now >= connection.deadline {
            if case .open = connection.phase { continue }
            fail(connection, .connectTimedOut(connection.path.remote))
            if case .tcp(let number) = connection.path.transport { connections[number] = nil }
        }
    }

    private func fail(_ connection: TCPConnection, _ error: IOError) {
        if case .connecting(let done) = connection.phase { done(.failure(error)) }
    }
}
