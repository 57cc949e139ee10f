import CLinux
import Glibc
import PCastCore

/// The TCP connections of an event loop. Each has a number, which is not reused while an old one could be confused with
/// it.
struct TCPConnections: ~Copyable {
    /// The maximum number of connections. For a new one, the oldest unauthenticated connection is closed. If there is
    /// none, the new one is closed.
    private let capacity: Int

    /// The time after which a connection without an authenticated peer is closed, so that a flood of connections does
    /// not exclude peers. Peers send their first check at once.
    private static let unknownTimeout = TimeSpan.seconds(30)

    /// The maximum number of connections per IPv4 address or IPv6 /64 network: all, and those of unauthenticated peers,
    /// of which the oldest is closed.
    private static let capacityOfAddress = 1_024
    private static let unknownOfAddress = 128
    private static let arrivalsOfAddress = 4 * unknownOfAddress
    private static let connectTimeout = TimeSpan.seconds(10)

    /// The maximum number of accepted connections per iteration.
    private static let acceptedPerIteration = 64

    /// The pause of accepting after the process has run out of descriptors, except for its reserve.
    private static let acceptPause = TimeSpan.seconds(1)

    /// The connections of one address.
    private struct AddressUse {
        var count = 0
        var unknown = 0
        /// The numbers of accepted connections, oldest first. Some of them may be authenticated or closed.
        var arrivals: [UInt32] = []
        var firstArrival = 0

        /// Arrivals are never more than a few times the limit, however many were closed by themselves.
        mutating func append(_ number: UInt32, of table: [UInt32: TCPConnection]) {
            if arrivals.count >= TCPConnections.arrivalsOfAddress {
                arrivals = arrivals[firstArrival...].filter { table[$0]?.isUnknown == true }
                firstArrival = 0
            }
            arrivals.append(number)
        }
    }

    /// Returns the unit that is limited: an IPv4 address, or an IPv6 /64 network, because a site has at least all
    /// addresses of one (RFC 6177).
    private static func block(_ address: IPAddress) -> IPAddress {
        address.family == .v6 ? IPAddress(v6: address.v6.high, 0) : address
    }

    private var table: [UInt32: TCPConnection] = [:]
    private var nextNumber: UInt32 = 1
    /// The numbers of accepted connections, oldest first. Some of them may be authenticated or closed.
    private var arrivals: [UInt32] = []
    private var firstArrival = 0
    /// The accepted connections of each address.
    private var addresses: [IPAddress: AddressUse] = [:]
    private var dirty: [TCPConnection] = []
    private var paused: [(listener: TCPListener, index: Int)] = []

    /// The number of accepted connections that were closed because of a limit.
    private(set) var refused = 0

    private(set) var framesQueued = 0
    private(set) var framesDropped = 0

    /// The time at which `closeOverdue` must be called; nil if no connection has a deadline.
    private(set) var deadline: Instant?

    init(capacity: Int = 4096) { self.capacity = capacity }

    var count: Int { table.count }

    /// Arrivals that are kept of one address at most.
    var longestArrivals: Int { addresses.values.map(\.arrivals.count).max() ?? 0 }

    mutating func accept(from listener: TCPListener, index: Int, at now: Instant, _ poller: borrowing Poller) {
        for _ in 0..<Self.acceptedPerIteration {
            switch listener.accept() {
            case .none: return
            case .connection(let descriptor): admit(descriptor, at: now, poller)
            case .lastConnection(let descriptor):
                admit(descriptor, at: now, poller)
                return pause(listener, index: index, at: now, poller)
            case .outOfDescriptors: return pause(listener, index: index, at: now, poller)
            }
        }
    }

    private mutating func pause(_ listener: TCPListener, index: Int, at now: Instant, _ poller: borrowing Poller) {
        poller.remove(listener.number, as: .listener(index))
        paused.append((listener, index))
        deadline = Instant.earlier(deadline, now + Self.acceptPause)
    }

    private mutating func admit(_ descriptor: Descriptor, at now: Instant, _ poller: borrowing Poller) {
        guard let local = SocketAddress.ask(descriptor.number, getsockname),
            let remote = SocketAddress.ask(descriptor.number, getpeername)
        else { return }
        guard makeSpace(for: remote) else {
            refused += 1
            return
        }
        let isThere = add(
            descriptor, local: local, remote: remote, phase: .unknown, deadline: now + Self.unknownTimeout, poller)
        if isThere { noteArrival(nextNumber &- 1, of: remote) }
    }

    /// Makes space for a new connection if necessary, by closing an unauthenticated one. Returns false if there is none
    /// to close.
    private mutating func makeSpace(for remote: TransportAddress) -> Bool {
        let block = Self.block(remote.ip)
        if let use = addresses[block] {
            guard use.count < Self.capacityOfAddress || use.unknown > 0 else { return false }
            if use.unknown >= Self.unknownOfAddress || use.count >= Self.capacityOfAddress { closeUnknown(of: block) }
        }
        return count < capacity || closeUnknown()
    }

    private mutating func noteArrival(_ number: UInt32, of remote: TransportAddress) {
        if arrivals.count >= 4 * capacity {
            arrivals = arrivals[firstArrival...].filter { table[$0]?.isUnknown == true }
            firstArrival = 0
        }
        arrivals.append(number)
        table[number]?.isCounted = true
        addresses[Self.block(remote.ip), default: AddressUse()].count += 1
        addresses[Self.block(remote.ip), default: AddressUse()].unknown += 1
        addresses[Self.block(remote.ip)]?.append(number, of: table)
    }

    /// Closes the oldest unauthenticated connection. Returns false if there is none.
    private mutating func closeUnknown() -> Bool {
        while firstArrival < arrivals.count {
            let number = arrivals[firstArrival]
            firstArrival += 1
            guard let connection = table[number], connection.isUnknown else { continue }
            close(connection.path)
            refused += 1
            return true
        }
        return false
    }

    /// Closes the oldest unauthenticated connection of one address.
    private mutating func closeUnknown(of block: IPAddress) {
        while let use = addresses[block], use.firstArrival < use.arrivals.count {
            let number = use.arrivals[use.firstArrival]
            addresses[block]?.firstArrival += 1
            guard let connection = table[number], connection.isUnknown else { continue }
            close(connection.path)
            refused += 1
            return
        }
    }

    /// Records that a peer has authenticated itself. The connection has no timeout any more.
    mutating func admitPeer(_ connection: TCPConnection) {
        guard connection.isUnknown else { return }
        connection.phase = .open
        if connection.isCounted { addresses[Self.block(connection.path.remote.ip)]?.unknown -= 1 }
    }

    private mutating func decrementCount(_ connection: TCPConnection) {
        guard connection.isCounted else { return }
        let block = Self.block(connection.path.remote.ip)
        addresses[block]?.count -= 1
        if connection.isUnknown { addresses[block]?.unknown -= 1 }
        if addresses[block]?.count == 0 { addresses[block] = nil }
    }

    mutating func connect(
        to remote: TransportAddress, from local: IPAddress?, at now: Instant, _ poller: borrowing Poller,
        _ done: @escaping @Sendable (Result<NetworkPath, IOError>) -> Void
    ) {
        do throws(IOError) {
            guard count < capacity else { throw .tooManyConnections(limit: capacity) }
            let descriptor = try Descriptor.socket(remote.ip.family, CLINUX_SOCK_STREAM)
            let local = try TCPConnection.begin(descriptor, to: remote, from: local)
            guard
                add(
                    descriptor, local: local, remote: remote, phase: .connecting(done),
                    deadline: now + Self.connectTimeout, poller)
            else { throw .system(call: "epoll_ctl", errno: Errno.current) }
        } catch {
            done(.failure(error))
        }
    }

    /// Takes over a connection that came to another loop, with the time that it has there; nil when there is no room.
    mutating func adopt(_ arrived: AcceptedConnection, _ poller: borrowing Poller) -> TCPConnection? {
        guard makeSpace(for: arrived.remote) else {
            refused += 1
            return nil
        }
        let isThere = add(
            arrived.descriptor, local: arrived.local, remote: arrived.remote, phase: .unknown,
            deadline: arrived.deadline, poller)
        guard isThere else { return nil }
        let number = nextNumber &- 1
        noteArrival(number, of: arrived.remote)
        table[number]?.takeBack(arrived.bytes)
        return table[number]
    }

    /// Removes a connection for another loop, with the bytes that were read beginning with the given frame.
    mutating func removeForTransfer(
        _ connection: TCPConnection, from frame: UnsafeMutableRawBufferPointer, _ poller: borrowing Poller
    ) -> AcceptedConnection? {
        guard close(connection.path) else { return nil }
        poller.remove(connection.descriptor.number, as: .connection(connection.number))
        return AcceptedConnection(
            descriptor: connection.descriptor, local: connection.path.local, remote: connection.path.remote,
            deadline: connection.deadline, bytes: connection.unreadBytes(from: frame))
    }

    private mutating func add(
        _ descriptor: Descriptor, local: TransportAddress, remote: TransportAddress, phase: TCPConnection.Phase,
        deadline: Instant, _ poller: borrowing Poller
    ) -> Bool {
        while table[nextNumber] != nil { nextNumber &+= 1 }
        let number = nextNumber
        let path = NetworkPath(transport: .tcp(connection: number), local: local, remote: remote)
        let connection = TCPConnection(descriptor, path: path, number: number, phase: phase, deadline: deadline)
        do {
            try poller.add(
                descriptor.number, as: .connection(number), writability: connection.watchesWritability)
        } catch {
            return false
        }
        nextNumber &+= 1
        table[number] = connection
        self.deadline = Instant.earlier(self.deadline, deadline)
        return true
    }

    /// Returns the connection to read and write; nil if there is none. The first event of a pending connection reports
    /// the result of `connect`.
    mutating func ready(_ number: UInt32, _ event: Poller.Event, _ poller: borrowing Poller) -> TCPConnection? {
        guard let connection = table[number] else { return nil }
        guard case .connecting(let done) = connection.phase else { return connection }
        let error = connection.connectError()
        guard error == 0 else {
            table[number] = nil
            done(.failure(.connectFailed(connection.path.remote, errno: error)))
            return nil
        }
        guard event.isWritable else { return nil }
        connection.phase = .open
        watch(connection, writability: connection.hasPendingBytes, poller)
        done(.success(connection.path))
        return nil
    }

    /// Removes a connection and closes its socket. Returns whether it existed.
    @discardableResult
    mutating func close(_ path: NetworkPath) -> Bool {
        guard case .tcp(let number) = path.transport, let connection = table.removeValue(forKey: number) else {
            return false
        }
        if case .connecting(let done) = connection.phase { done(.failure(.connectTimedOut(path.remote))) }
        decrementCount(connection)
        connection.isClosed = true
        return true
    }

    /// Closes overdue connections, and resumes accepting after a pause. Returns the paths that the machine may know.
    mutating func closeOverdue(at now: Instant, _ poller: borrowing Poller) -> [NetworkPath] {
        deadline = nil
        if !paused.isEmpty, DescriptorReserve.isReached {
            deadline = now + Self.acceptPause
        } else {
            for (listener, index) in paused { try? poller.add(listener.number, as: .listener(index)) }
            paused.removeAll()
        }
        let overdue = findOverdue(at: now)
        for connection in overdue { close(connection.path) }
        return overdue.compactMap { if case .connecting = $0.phase { nil } else { $0.path } }
    }

    private mutating func findOverdue(at now: Instant) -> [TCPConnection] {
        var overdue: [TCPConnection] = []
        for connection in table.values where !connection.isOpen {
            if now < connection.deadline {
                deadline = Instant.earlier(deadline, connection.deadline)
            } else {
                overdue.append(connection)
            }
        }
        return overdue
    }

    /// Reports to pending connections that the loop has stopped, and closes all connections.
    mutating func failConnecting() {
        for connection in table.values {
            if case .connecting(let done) = connection.phase { done(.failure(.stopped)) }
        }
        table.removeAll()
    }
}

// MARK: - Writing

extension TCPConnections {
    /// Queues the batch's datagrams that are for TCP connections. Each is queued or dropped completely.
    mutating func append(framesOf batch: borrowing DatagramBatch) {
        for index in 0..<batch.count {
            let entry = batch[index]
            guard case .tcp(let number) = entry.path.transport else { continue }
            guard let connection = table[number], connection.append(batch.bytes(of: entry).unsafeBytes) else {
                framesDropped += 1
                continue
            }
            framesQueued += 1
            if !connection.isDirty {
                connection.isDirty = true
                dirty.append(connection)
            }
        }
    }

    /// Writes queued frames until a connection turns out to be broken. Closes that connection and returns its path; nil
    /// if all connections were written.
    mutating func flushNext(_ poller: borrowing Poller) -> NetworkPath? {
        while let connection = dirty.popLast() {
            connection.isDirty = false
            if connection.isClosed || flush(connection, poller) { continue }
            close(connection.path)
            return connection.path
        }
        return nil
    }

    /// Writes as much as the socket accepts, and watches for writability if data remains. Returns false if the
    /// connection is broken.
    func flush(_ connection: TCPConnection, _ poller: borrowing Poller) -> Bool {
        if case .connecting = connection.phase { return true }
        guard connection.flush() else { return false }
        watch(connection, writability: connection.hasPendingBytes, poller)
        return true
    }

    private func watch(_ connection: TCPConnection, writability: Bool, _ poller: borrowing Poller) {
        guard connection.watchesWritability != writability else { return }
        connection.watchesWritability = writability
        poller.change(connection.descriptor.number, as: .connection(connection.number), writability: writability)
    }
}
