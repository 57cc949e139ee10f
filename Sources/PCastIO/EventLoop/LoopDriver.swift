import PCastCore

/// The run loop of an event loop's thread. Each iteration first receives input for some milliseconds at most and does
/// the work of other threads. Then it advances the machine if its deadline is reached, and sends the machine's output.
///
/// It is `@unchecked Sendable` because one thread creates it and passes it to the loop's thread, which alone uses it
/// from then on.
final class LoopDriver<M: DatagramMachine & ~Copyable>: @unchecked Sendable {
    /// The maximum time of receiving in an iteration. All output is then sent once per peer. An SFU that sent after
    /// each batch never recovered from a delay.
    private static var maximumReceiveTime: TimeSpan { .milliseconds(10) }
    /// The maximum number of datagrams whose paths the machine receives in advance.
    private static var prefetchDistance: Int { 8 }

    /// The maximum number of sockets that are opened while the loop runs.
    private static var maximumOpened: Int { 256 }
    /// The size of their buffers in bytes, enough for the media of one peer for a second.
    private static var openedBufferSize: Int { 4 * 1024 * 1024 }

    private let sockets: LoopSockets
    private let mailbox: LoopMailbox<LoopItem<M>>
    private let beforeSending: (@Sendable (inout M, Instant) -> Void)?
    private let afterIteration: @Sendable (inout M, Instant) -> Void
    private let onAddressChange: (@Sendable (inout M, [TransportAddress], Instant) -> Void)?
    private let onPeerShard: (@Sendable (AcceptedConnection, Int) -> Void)?
    private let isPeer: (@Sendable (borrowing M, NetworkPath) -> Bool)?
    /// Nil if `onAddressChange` is nil, or if the system does not report changes (some sandboxes).
    private let addressWatch: AddressMonitor?
    private let poller: Poller
    private var machine: M
    /// The size fits the second-level cache of a processor, because written data is read again when it is sent. With
    /// larger ones, the cost of a forwarded packet increased by 5 %.
    private var batch = DatagramBatch(byteCapacity: 192 * 1024)
    private var receiver = DatagramReceiver()
    private let expected = UnsafeMutableBufferPointer<NetworkPath>.allocate(capacity: prefetchDistance)
    private var sender = DatagramSender()
    private var connections = TCPConnections()
    private var counts = EventLoopStatistics()
    /// The sockets that were opened while the loop runs, each with the traffic of one peer; nil for a closed one.
    private var opened: [UDPSocket?] = []
    /// All sockets that can send.
    private var sending: [UDPSocket]
    /// The drop counters of the sockets: those for normal datagrams, those for deferrable ones, and those of `opened`.
    private var kernelDrops: [UInt32]
    /// The schedule of deferrable datagrams; nil if there are none.
    private var pace: ReceiveCoalescing?
    /// The time of the next look at deferrable work; nil while each piece wakes the thread.
    private var workDue: Instant?
    private var isClosed = false

    /// The last instant that the machine received, because time must not go backwards.
    private var lastInstant = MonotonicClock.now()

    init(
        machine: consuming sending M, sockets: LoopSockets, pace: ReceiveCoalescing?, mailbox: LoopMailbox<LoopItem<M>>,
        beforeSending: (@Sendable (inout M, Instant) -> Void)?,
        afterIteration: @escaping @Sendable (inout M, Instant) -> Void,
        onAddressChange: (@Sendable (inout M, [TransportAddress], Instant) -> Void)?,
        onPeerShard: (@Sendable (AcceptedConnection, Int) -> Void)?,
        isPeer: (@Sendable (borrowing M, NetworkPath) -> Bool)?
    ) throws(IOError) {
        let poller = try Poller()
        try poller.add(mailbox.number, as: .mailbox)
        for (index, socket) in sockets.udp.enumerated() { try poller.add(socket.number, as: .socket(index)) }
        for (index, socket) in sockets.deferred.enumerated() { try poller.addOnce(socket.number, as: .deferred(index)) }
        for (index, listener) in sockets.tcp.enumerated() { try poller.add(listener.number, as: .listener(index)) }
        let watch = onAddressChange == nil ? nil : try? AddressMonitor()
        if let watch { try poller.add(watch.number, as: .addresses) }
        addressWatch = watch
        self.onAddressChange = onAddressChange
        self.onPeerShard = onPeerShard
        self.isPeer = isPeer
        self.poller = poller
        self.machine = machine
        self.sockets = sockets
        sending = sockets.udp
        self.mailbox = mailbox
        self.beforeSending = beforeSending
        self.afterIteration = afterIteration
        self.pace = pace
        kernelDrops = Array(repeating: 0, count: sockets.udp.count + sockets.deferred.count)
    }

    deinit { expected.deallocate() }

    func run() {
        // The machine's initial output does not wait for an event.
        if let beforeSending { beforeSending(&machine, tick()) }
        finishIteration()
        while !isClosed { iteration() }
        connections.failConnecting()
    }

    private func iteration() {
        let count = poller.wait(
            until: Instant.earlier(
                Instant.earlier(machine.deadline, connections.deadline), Instant.earlier(pace?.due, workDue)))
        // Datagrams contain media and precede streams and the work of other threads.
        for index in 0..<count {
            switch poller.event(index).source {
            case .socket(let socket): receive(from: sockets.udp[socket], counting: socket)
            case .opened(let index):
                guard opened.indices.contains(index), let socket = opened[index] else { continue }
                receive(from: socket, counting: sockets.udp.count + sockets.deferred.count + index)
            case .deferred: pace?.arrived(at: tick())
            case .mailbox, .listener, .connection, .addresses: break
            }
        }
        for index in 0..<count { handle(poller.event(index)) }
        if workDue != nil { takeWork(isSignalled: false) }
        // After a stall of the thread, input from other threads may resolve a deadline that has passed.
        if let beforeSending { beforeSending(&machine, tick()) }
        expire()
        finishIteration()
    }

    /// Deferrable datagrams are read after media was sent, so that they do not delay it.
    private func finishIteration() {
        sendAll()
        receiveDeferred()
        afterIteration(&machine, tick())
        sendAll()
    }

    /// Returns the current time for the machine. The clock is read for each packet, so that the packets of a batch do
    /// not all have the arrival time of the first.
    private func tick() -> Instant {
        lastInstant = max(lastInstant, MonotonicClock.now())
        return lastInstant
    }

    private func expire() {
        if let earliestDeadline = machine.earliestDeadline {
            let now = tick()
            if now >= earliestDeadline { machine.advance(to: now) }
        }
        guard let deadline = connections.deadline, tick() >= deadline else { return }
        for path in connections.closeOverdue(at: lastInstant, poller) { machine.pathClosed(path, at: lastInstant) }
    }

    private func handle(_ event: Poller.Event) {
        switch event.source {
        case .socket, .deferred, .opened: break
        case .mailbox: takeWork(isSignalled: true)
        case .listener(let index): connections.accept(from: sockets.tcp[index], index: index, at: tick(), poller)
        case .connection(let number): handle(connection: number, event)
        case .addresses:
            addressWatch?.drain()
            onAddressChange?(&machine, sockets.addresses, tick())
        }
    }

    private func takeWork(isSignalled: Bool) {
        let taken = mailbox.take(isSignalled: isSignalled, at: tick())
        isClosed = taken.isClosed
        workDue = taken.next
        for item in taken.items { perform(item) }
    }

    private func perform(_ item: LoopItem<M>) {
        switch item {
        case .work(let work): work(&machine, tick())
        case .connect(let remote, let local, let done):
            connections.connect(to: remote, from: local, at: tick(), poller, done)
        case .close(let path):
            // Pending output for the connection, such as a DTLS alert, is sent first.
            sendAll()
            connections.close(path)
        case .open(let address, let answer): answer(open(address))
        case .closeSocket(let port):
            // Pending output, such as a DTLS alert, is sent first.
            sendAll()
            closeSocket(port)
        case .adopt(let arrived):
            if let connection = connections.adopt(arrived, poller) { readFrames(of: connection) }
        case .statistics(let answer): answer(statistics())
        }
    }

    /// Opens another socket. The number of sockets is limited, because each send searches them.
    private func open(_ address: TransportAddress) -> Result<TransportAddress, IOError> {
        let free = opened.firstIndex { $0 == nil } ?? opened.count
        guard free < Self.maximumOpened else { return .failure(.tooManyConnections(limit: Self.maximumOpened)) }
        do throws(IOError) {
            let socket = try UDPSocket(binding: address, bufferSize: Self.openedBufferSize)
            try poller.add(socket.number, as: .opened(free))
            if free == opened.count {
                opened.append(socket)
                kernelDrops.append(0)
            } else {
                opened[free] = socket
            }
            sending.append(socket)
            return .success(socket.address)
        } catch {
            return .failure(error)
        }
    }

    private func closeSocket(_ port: UInt16) {
        guard let index = opened.firstIndex(where: { $0?.address.port == port }), let socket = opened[index] else {
            return
        }
        poller.remove(socket.number, as: .opened(index))
        sending.removeAll { $0 === socket }
        opened[index] = nil
        let counter = sockets.udp.count + sockets.deferred.count + index
        counts.kernelDrops += Int(kernelDrops[counter])
        kernelDrops[counter] = 0
    }

    private func statistics() -> EventLoopStatistics {
        var result = counts
        result.sent = sender.counts.sent + connections.framesQueued
        result.sendErrors = sender.counts.errors + sender.counts.tooLarge
        result.sendDrops = sender.counts.dropped + connections.framesDropped
        result.segmentedMessages = sender.counts.segmentedMessages
        result.segments = sender.counts.segments
        result.coalescedMessages = receiver.coalescedMessages
        result.coalesced = receiver.coalesced
        result.segmentationRefusals = sender.counts.segmentationRefusals
        result.kernelDrops = kernelDrops.reduce(counts.kernelDrops) { $0 + Int($1) }
        result.mailboxOverflows = mailbox.overflows
        result.connections = connections.count
        result.connectionsRefused = connections.refused
        return result
    }
}

// MARK: - Datagrams

extension LoopDriver where M: ~Copyable {
    /// Reads deferrable datagrams if they are due.
    private func receiveDeferred() {
        guard pace?.due != nil, pace!.isDue(at: tick()) else { return }
        var (count, hasMore) = (0, false)
        for (index, socket) in sockets.deferred.enumerated() {
            let read = receive(from: socket, counting: sockets.udp.count + index)
            count += read.count
            hasMore = hasMore || read.hasMore
        }
        guard pace!.read(count, hasMore: hasMore, at: tick()) else { return }
        for (index, socket) in sockets.deferred.enumerated() { poller.rearm(socket.number, as: .deferred(index)) }
    }

    /// Receives from a socket. `index` is the index of the socket's drop counter. Returns the number of datagrams, and
    /// whether more may be pending.
    @discardableResult
    private func receive(from socket: UDPSocket, counting index: Int) -> (count: Int, hasMore: Bool) {
        var end: Instant?
        var total = 0
        while true {
            let count = receiver.receive(from: socket)
            total += count
            let clocks = MonotonicClock.reference()
            end = end ?? clocks.instant + Self.maximumReceiveTime
            for position in 0..<count {
                if position % Self.prefetchDistance == 0 {
                    expect(position..<min(position + Self.prefetchDistance, count), from: socket)
                }
                guard let datagram = receiver.datagram(position) else { continue }
                kernelDrops[index] = max(kernelDrops[index], datagram.drops)
                if datagram.isTruncated {
                    counts.truncated += 1
                } else if !datagram.bytes.isEmpty {
                    handle(datagram, from: socket, clocks)
                }
            }
            guard receiver.isFull else { return (total, false) }
            if clocks.instant >= end! { return (total, true) }
        }
    }

    /// Announces the paths of the next datagrams to the machine, if there are several.
    private func expect(_ positions: Range<Int>, from socket: UDPSocket) {
        var count = 0
        for position in positions {
            guard let datagram = receiver.datagram(position) else { continue }
            let path = Self.path(of: datagram, from: socket)
            if count > 0, expected[count - 1] == path { continue }
            expected.initializeElement(at: count, to: path)
            count += 1
        }
        if count > 1 { machine.expect(from: Span(_unsafeElements: UnsafeBufferPointer(rebasing: expected[..<count]))) }
    }

    private static func path(of datagram: DatagramReceiver.Datagram, from socket: UDPSocket) -> NetworkPath {
        let local = TransportAddress(ip: datagram.local ?? socket.address.ip, port: socket.address.port)
        return NetworkPath(local: local, remote: datagram.remote)
    }

    /// Passes a datagram to the machine. The kernel's time of arrival is from a clock that may be set, so it is limited
    /// to the time between the machine's last instant and now.
    private func handle(
        _ datagram: DatagramReceiver.Datagram, from socket: UDPSocket, _ clocks: WallClockReference
    ) {
        let arrival = datagram.arrival.map { clocks.instant(at: $0) } ?? clocks.instant
        lastInstant = max(lastInstant, min(arrival, clocks.instant))
        counts.received += 1
        machine.handle(
            MutableByteView(datagram.bytes), from: Self.path(of: datagram, from: socket),
            waited: max(lastInstant - arrival, .zero), at: lastInstant)
    }

    private func sendAll() {
        var hasMore = true
        while hasMore {
            let now = tick()
            hasMore = machine.poll(into: &batch, at: now)
            if batch.isEmpty { break }
            sender.send(batch, over: sending, at: now)
            if connections.count > 0 { connections.append(framesOf: batch) }
            batch.removeAll()
        }
        while let path = connections.flushNext(poller) { machine.pathClosed(path, at: tick()) }
    }
}

// MARK: - Streams

extension LoopDriver where M: ~Copyable {
    private func handle(connection number: UInt32, _ event: Poller.Event) {
        guard let connection = connections.ready(number, event, poller) else { return }
        if event.isWritable, !connections.flush(connection, poller) { return closed(connection) }
        if event.isReadable { read(connection) }
    }

    /// Reads once per iteration, so that a fast sender does not delay others. Remaining data causes another iteration
    /// at once.
    private func read(_ connection: TCPConnection) {
        switch connection.read() {
        case .nothing: return
        case .end: return closed(connection)
        case .some: break
        }
        readFrames(of: connection)
    }

    private func readFrames(of connection: TCPConnection) {
        let now = tick()
        while true {
            switch connection.nextFrame() {
            case .frame(let frame):
                if connection.isUnknown, let onPeerShard, let number = machine.peerShard(of: MutableByteView(frame)) {
                    guard let arrived = connections.removeForTransfer(connection, from: frame, poller) else { return }
                    return onPeerShard(arrived, number)
                }
                counts.received += 1
                machine.handle(MutableByteView(frame), from: connection.path, at: now)
                if connection.isUnknown, isPeer?(machine, connection.path) ?? true { connections.admitPeer(connection) }
            case .incomplete: return
            case .oversize: return closed(connection)
            }
        }
    }

    private func closed(_ connection: TCPConnection) {
        if connections.close(connection.path) { machine.pathClosed(connection.path, at: tick()) }
    }
}

/// A request of another thread to an event loop's thread.
enum LoopItem<M: DatagramMachine & ~Copyable>: Sendable {
    case work(@Sendable (inout M, Instant) -> Void)
    case connect(TransportAddress, from: IPAddress?, @Sendable (Result<NetworkPath, IOError>) -> Void)
    case close(NetworkPath)
    case open(TransportAddress, @Sendable (Result<TransportAddress, IOError>) -> Void)
    case closeSocket(UInt16)
    case adopt(AcceptedConnection)
    case statistics(@Sendable (EventLoopStatistics) -> Void)
}
