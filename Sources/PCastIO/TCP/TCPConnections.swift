import CLinux
import Glibc
import PCastMedia

/// The TCP connections of one event loop, by number. A number is not used again while it could be mistaken.
struct TCPConnections: ~Copyable {
    /// Connections at most; for another one the oldest of nobody known goes, and where there is none, it is closed on
    /// arrival.
    private let capacity: Int

    /// A connection on which no peer has authenticated itself by then is closed: a flood of unknown ones must not take the
    /// room of peers, whose first check comes at once.
    private static let unknownTimeout = TimeSpan.seconds(30)

    /// What one address, or one network of IPv6, has at most: in all, and of nobody known, of which the oldest goes.
    private static let capacityOfAddress = 1_024
    private static let unknownOfAddress = 128
    private static let arrivalsOfAddress = 4 * unknownOfAddress
    private static let connectTimeout = TimeSpan.seconds(10)

    /// Connections accepted in one turn.
    private static let acceptedPerTurn = 64

    /// How long no connection is accepted after the process ran out of descriptors.
    private static let acceptPause = TimeSpan.seconds(1)

    /// What an address has.
    private struct AddressUse {
        var count = 0
        var unknown = 0
        /// The oldest first; some of them are known or closed by now.
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

    /// Who has one address of IPv6 has all of its network (RFC 6177).
    private static func block(_ address: IPAddress) -> IPAddress {
        address.family == .v6 ? IPAddress(v6: address.v6.high, 0) : address
    }

    private var table: [UInt32: TCPConnection] = [:]
    private var nextNumber: UInt32 = 1
    /// Those that were accepted, the oldest first; some of them are answered or closed by now.
    private var arrivals: [UInt32] = []
    private var firstArrival = 0
    /// Of the connections that were accepted.
    private var addresses: [IPAddress: AddressUse] = [:]
    private var dirty: [TCPConnection] = []
    private var paused: [(listener: TCPListener, index: Int)] = []

    /// Arrivals closed because of the limit.
    private(set) var refused = 0

    private(set) var framesQueued = 0
    private(set) var framesDropped = 0

    /// When `closeOverdue` wants to be called: not later than the first connection is overdue.
    private(set) var deadline: Instant?

    init(capacity: Int = 4096) { self.capacity = capacity }

    var count: Int { table.count }

    /// Arrivals that are kept of one address at most.
    var longestArrivals: Int { addresses.values.map(\.arrivals.count).max() ?? 0 }

    mutating func accept(from listener: TCPListener, index: Int, at now: Instant, _ poller: borrowing Poller) {
        for _ in 0..<Self.acceptedPerTurn {
            switch listener.accept() {
            case .none: return
            case .connection(let descriptor): admit(descriptor, at: now, poller)
            case .outOfDescriptors:
                poller.remove(listener.number, as: .listener(index))
                paused.append((listener, index))
                deadline = Instant.earlier(deadline, now + Self.acceptPause)
                return
            }
        }
    }

    private mutating func admit(_ descriptor: Descriptor, at now: Instant, _ poller: borrowing Poller) {
        guard let local = SocketAddress.ask(descriptor.number, getsockname),
            let remote = SocketAddress.ask(descriptor.number, getpeername)
        else { return }
        guard makeRoom(for: remote) else {
            refused += 1
            return
        }
        let isThere = add(
            descriptor, local: local, remote: remote, phase: .unknown, deadline: now + Self.unknownTimeout, poller)
        if isThere { noteArrival(nextNumber &- 1, of: remote) }
    }

    /// Whether there is room for one more from there; closes one of nobody known where that makes some.
    private mutating func makeRoom(for remote: TransportAddress) -> Bool {
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

    /// Makes room by closing the oldest connection of nobody known; false when there is none.
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

    /// The same of one address.
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

    /// A peer has authenticated itself on the connection: it stays as long as its path does.
    mutating func admitPeer(_ connection: TCPConnection) {
        guard connection.isUnknown else { return }
        connection.phase = .open
        if connection.isCounted { addresses[Self.block(connection.path.remote.ip)]?.unknown -= 1 }
    }

    private mutating func uncount(_ connection: TCPConnection) {
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
    mutating func adopt(_ arrived: ArrivedConnection, _ poller: borrowing Poller) -> TCPConnection? {
        guard makeRoom(for: arrived.remote) else {
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

    /// Lets go of a connection, for another loop to adopt, with what was read of it from that frame on.
    mutating func giveAway(
        _ connection: TCPConnection, from frame: UnsafeMutableRawBufferPointer, _ poller: borrowing Poller
    ) -> ArrivedConnection? {
        guard close(connection.path) else { return nil }
        poller.remove(connection.descriptor.number, as: .connection(connection.number))
        return ArrivedConnection(
            descriptor: connection.descriptor, local: connection.path.local, remote: connection.path.remote,
            deadline: connection.deadline, bytes: connection.unread(from: frame))
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

    /// The connection to read and write now, if any: while connecting, the first event tells how that ended.
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

    /// Forgets the connection, whose socket closes; answers whether there was one.
    @discardableResult
    mutating func close(_ path: NetworkPath) -> Bool {
        guard case .tcp(let number) = path.transport, let connection = table.removeValue(forKey: number) else {
            return false
        }
        if case .connecting(let done) = connection.phase { done(.failure(.connectTimedOut(path.remote))) }
        uncount(connection)
        connection.isClosed = true
        return true
    }

    /// Closes what is overdue, and accepts again after a pause; answers the paths that the machine may know.
    mutating func closeOverdue(at now: Instant, _ poller: borrowing Poller) -> [NetworkPath] {
        deadline = nil
        for (listener, index) in paused { try? poller.add(listener.number, as: .listener(index)) }
        paused.removeAll()
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

    /// The loop ends.
    mutating func failConnecting() {
        for connection in table.values {
            if case .connecting(let done) = connection.phase { done(.failure(.stopped)) }
        }
        table.removeAll()
    }
}

// MARK: - Writing

extension TCPConnections {
    /// Queues the batch's datagrams for streams, whole or not at all.
    mutating func append(framesOf batch: borrowing DatagramBatch) {
        for index in 0..<batch.count {
            let entry = batch[index]
            guard case .tcp(let number) = entry.path.transport else { continue }
            guard let connection = table[number], connection.append(batch.bytes(of: entry)) else {
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

    /// Writes what was queued, connection by connection, until one turns out to be broken, which is closed and
    /// answered; nil when all is written.
    mutating func flushNext(_ poller: borrowing Poller) -> NetworkPath? {
        while let connection = dirty.popLast() {
            connection.isDirty = false
            if connection.isClosed || flush(connection, poller) { continue }
            close(connection.path)
            return connection.path
        }
        return nil
    }

    /// Writes what the socket takes, and has the poller watch for room where something is left. Answers false when
    /// the connection is broken.
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
