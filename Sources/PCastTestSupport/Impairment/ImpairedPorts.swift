import CLinux
import Glibc
import PCastCore
import PCastIO

/// The proxy's ports and the path of their traffic, on the proxy's thread.
struct ImpairedPorts {
    private static let longestWait = TimeSpan.milliseconds(50)

    private var datagrams: [DatagramPort] = []
    private var connections: [ConnectionPort] = []
    private var path: ImpairedPath
    private let blocksUDP: Bool
    private var rebindings: ArraySlice<Instant>
    private var steps: ArraySlice<NetworkConditions.Step>
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)

    init(_ ports: [ImpairedLink.Port], _ conditions: NetworkConditions) throws {
        let now = MonotonicClock.now()
        path = ImpairedPath(conditions, at: now)
        blocksUDP = conditions.blocksUDP
        rebindings = conditions.rebindings.sorted().map { now + $0 }[...]
        steps = conditions.steps[...]
        let opening = conditions.up.initial.delay + conditions.down.initial.delay
        for (number, port) in ports.enumerated() {
            datagrams.append(
                try DatagramPort(number, from: port.address, to: port.server, exempt: conditions.exempt))
            connections.append(try ConnectionPort(number, from: port.address, to: port.server, opening: opening))
        }
    }

    var statistics: (up: LinkStatistics, down: LinkStatistics) { (path.up.statistics, path.down.statistics) }

    func close() { buffer.deallocate() }

    mutating func rebind() {
        for number in datagrams.indices { datagrams[number].rebind() }
    }

    /// Applies the next of the changes that wait for a request.
    mutating func step() {
        guard let step = steps.popFirst() else { return }
        if step.isUp { step.change(&path.up.conditions) }
        if step.isDown { step.change(&path.down.conditions) }
    }

    /// Waits for a short time and processes what is due.
    mutating func runIteration() {
        let before = MonotonicClock.now()
        let parts =
            datagrams.map(\.descriptors) + connections.map { $0.descriptors(path, at: before) }
        var descriptors = Array(parts.joined())
        var next = Instant.earlier(path.deadline, rebindings.first) ?? before + Self.longestWait
        for port in connections { next = Instant.earlier(next, port.deadline(after: before)) ?? next }
        ProxySocket.wait(&descriptors, for: min(max(.zero, next - before), Self.longestWait))
        let now = MonotonicClock.now()
        if let due = rebindings.first, due <= now {
            rebindings = rebindings.dropFirst()
            rebind()
        }
        read(descriptors, parts.map(\.count), at: now)
        deliver(at: MonotonicClock.now())
    }

    private mutating func read(_ descriptors: [pollfd], _ counts: [Int], at now: Instant) {
        var first = 0
        for (index, count) in counts.enumerated() {
            let reports = descriptors[first..<first + count]
            first += count
            if index < datagrams.count {
                datagrams[index].read(reports, buffer, into: &path, at: now)
            } else {
                connections[index - datagrams.count].read(reports, buffer, into: &path, at: now)
            }
        }
    }

    private mutating func deliver(at now: Instant) {
        while let transit = path.up.receive(at: now) { arrive(transit, isUp: true) }
        while let transit = path.down.receive(at: now) { arrive(transit, isUp: false) }
    }

    private mutating func arrive(_ transit: ImpairedPath.Transit, isUp: Bool) {
        switch transit {
        case .datagram(let port, _, _): if !blocksUDP { datagrams[port].arrive(transit, isUp: isUp) }
        case .segment(let port, _, _): connections[port].arrive(transit, isUp: isUp)
        }
    }
}

/// TCP connections between clients and one server.
struct ConnectionPort {
    /// The most connections. Further ones wait in the listening queue.
    private static let maximumConnections = 256

    private let number: Int
    private let listeningSocket: ProxySocket
    private let server: TransportAddress
    /// The delay of a connection's first bytes. It stands for the handshake, which the kernel completes at once.
    private let opening: TimeSpan
    private var connections: [ImpairedConnection] = []
    private var opened = 0

    init(
        _ number: Int, from address: TransportAddress, to server: TransportAddress, opening: TimeSpan
    ) throws {
        self.number = number
        self.server = server
        self.opening = opening
        listeningSocket = try ProxySocket(.stream)
        try listeningSocket.bind(address)
        try listeningSocket.listen()
    }

    /// Returns the descriptors to wait for: the listening socket, then two for each connection.
    func descriptors(_ path: borrowing ImpairedPath, at now: Instant) -> [pollfd] {
        let isOpen = connections.count < Self.maximumConnections
        let first = pollfd(fd: listeningSocket.number, events: isOpen ? Int16(POLLIN) : 0, revents: 0)
        let up = path.hasSpace(isUp: true)
        let down = path.hasSpace(isUp: false)
        return [first] + connections.flatMap { $0.descriptors(hasSpaceUp: up, hasSpaceDown: down, at: now) }
    }

    /// Returns the next time at which a connection may be read whose handshake is still delayed; nil if there is none.
    func deadline(after now: Instant) -> Instant? { connections.map(\.opened).filter { $0 > now }.min() }

    mutating func read(
        _ reports: ArraySlice<pollfd>, _ buffer: UnsafeMutableRawBufferPointer, into path: inout ImpairedPath,
        at now: Instant
    ) {
        let reports = Array(reports)
        for index in connections.indices {
            connections[index].serve(
                port: number, client: reports[2 * index + 1].revents, server: reports[2 * index + 2].revents, buffer,
                into: &path, at: now)
        }
        connections.removeAll(where: \.isOver)
        if reports[0].revents != 0 { acceptAll(at: now) }
    }

    private mutating func acceptAll(at now: Instant) {
        while connections.count < Self.maximumConnections, let client = listeningSocket.accept() {
            guard let server = try? ProxySocket(.stream), (try? server.connect(self.server)) != nil else { continue }
            opened += 1
            connections.append(
                ImpairedConnection(opened, client: client, server: server, opened: now + opening))
        }
    }

    mutating func arrive(_ transit: ImpairedPath.Transit, isUp: Bool) {
        guard case .segment(_, let connection, let bytes) = transit,
            let index = connections.firstIndex(where: { $0.number == connection })
        else { return }
        connections[index].arrive(bytes, isUp: isUp)
    }
}

/// Datagrams between clients and one server. Each client has its own socket towards the server, which distinguishes
/// clients by their addresses.
struct DatagramPort {
    private struct Client {
        let address: TransportAddress
        var socket: ProxySocket
        var lastReceivedAt: Instant
    }

    /// The most clients, and the time without datagrams after which a client is removed.
    private static let maximumClients = 512
    private static let timeout = TimeSpan.seconds(60)

    private let number: Int
    private let listeningSocket: ProxySocket
    private let server: TransportAddress
    private let exempt: IPAddress?
    private var clients: [Client] = []

    /// Opens the port. `number` is its number among the proxy's ports. Throws ``ImpairmentError``.
    init(_ number: Int, from address: TransportAddress, to server: TransportAddress, exempt: IPAddress?) throws {
        self.number = number
        listeningSocket = try ProxySocket(.datagrams)
        try listeningSocket.bind(address)
        self.server = server
        self.exempt = exempt
    }

    /// The descriptors to wait for: the listening socket, then one for each client.
    var descriptors: [pollfd] {
        ([listeningSocket] + clients.map(\.socket)).map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
    }

    /// Reads the sockets that are ready. `reports` are the `descriptors` after waiting.
    mutating func read(
        _ reports: ArraySlice<pollfd>, _ buffer: UnsafeMutableRawBufferPointer, into path: inout ImpairedPath,
        at now: Instant
    ) {
        let reports = Array(reports)
        for index in clients.indices where reports[index + 1].revents != 0 {
            while let (count, _) = clients[index].socket.receive(into: buffer) {
                let address = clients[index].address
                let transit = ImpairedPath.Transit.datagram(port: number, client: address, Array(buffer[..<count]))
                if address.ip == exempt {
                    arrive(transit, isUp: false)
                } else {
                    path.send(transit, isUp: false, at: now)
                }
            }
        }
        // This comes last, because it adds clients whose sockets are not among the reports.
        if reports[0].revents != 0 { readDoor(buffer, into: &path, at: now) }
        clients.removeAll { now - $0.lastReceivedAt > Self.timeout }
    }

    private mutating func readDoor(
        _ buffer: UnsafeMutableRawBufferPointer, into path: inout ImpairedPath, at now: Instant
    ) {
        while let (count, address) = listeningSocket.receive(into: buffer) {
            if let index = clients.firstIndex(where: { $0.address == address }) {
                clients[index].lastReceivedAt = now
            } else if let socket = newSocket() {
                clients.append(Client(address: address, socket: socket, lastReceivedAt: now))
            } else {
                continue
            }
            let transit = ImpairedPath.Transit.datagram(port: number, client: address, Array(buffer[..<count]))
            if address.ip == exempt { arrive(transit, isUp: true) } else { path.send(transit, isUp: true, at: now) }
        }
    }

    private func newSocket() -> ProxySocket? {
        guard clients.count < Self.maximumClients, let socket = try? ProxySocket(.datagrams) else { return nil }
        return (try? socket.connect(server)) == nil ? nil : socket
    }

    /// Gives each client another address towards the server. Datagrams to the previous one are lost.
    mutating func rebind() {
        for index in clients.indices where clients[index].address.ip != exempt {
            if let socket = newSocket() { clients[index].socket = socket }
        }
    }

    /// Delivers a datagram. If the socket does not accept it, it is lost like on any network.
    func arrive(_ transit: ImpairedPath.Transit, isUp: Bool) {
        guard case .datagram(_, let client, let bytes) = transit else { return }
        if isUp {
            guard let client = clients.first(where: { $0.address == client }) else { return }
            send(client.socket.number, bytes, bytes.count, 0)
        } else {
            _ = ProxySocket.with(client) { sendto(listeningSocket.number, bytes, bytes.count, 0, $0, $1) }
        }
    }
}

/// Both directions between clients and servers, with queues that all traffic shares.
struct ImpairedPath {
    /// Data in transit.
    enum Transit {
        case datagram(port: Int, client: TransportAddress, [UInt8])
        /// Bytes of a connection; an empty array is its end.
        case segment(port: Int, connection: Int, [UInt8])
    }

    /// The sizes of the headers: IPv4 with UDP, and IPv4 with TCP.
    private static let datagramOverhead = 28
    private static let segmentOverhead = 40
    /// The largest segment, as on Ethernet.
    static let segmentSize = 1_448

    var up: NetworkLink<Transit>
    var down: NetworkLink<Transit>

    init(_ conditions: NetworkConditions, at now: Instant) {
        up = NetworkLink(conditions.up, seed: conditions.seed, at: now)
        down = NetworkLink(conditions.down, seed: conditions.seed &+ 1, at: now)
    }

    var deadline: Instant? { Instant.earlier(up.deadline, down.deadline) }

    mutating func send(_ transit: Transit, isUp: Bool, at now: Instant) {
        let size: Int
        var isReliable = false
        switch transit {
        case .datagram(_, _, let bytes): size = bytes.count + Self.datagramOverhead
        case .segment(_, _, let bytes):
            size = bytes.count + Self.segmentOverhead
            isReliable = true
        }
        if isUp {
            up.send(transit, size: size, isReliable: isReliable, at: now)
        } else {
            down.send(transit, size: size, isReliable: isReliable, at: now)
        }
    }

    /// Returns whether a direction accepts another segment. TCP waits until it does.
    func hasSpace(isUp: Bool) -> Bool {
        let size = Self.segmentSize + Self.segmentOverhead
        return isUp ? up.hasSpace(for: size) : down.hasSpace(for: size)
    }
}
