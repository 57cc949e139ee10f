import Glibc
import PCastIO
import PCastMedia

/// Connections between clients and one server through a bad network.
struct ConnectionImpairment {
    /// Further connections wait at the door.
    private static let maximumConnections = 256

    private let door: ProxySocket
    private let server: TransportAddress
    private let conditions: NetworkConditions
    private var generator: SeededGenerator
    private var connections: [ImpairedConnection] = []
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)

    init(from address: TransportAddress, to server: TransportAddress, _ conditions: NetworkConditions) throws {
        door = try ProxySocket(.stream)
        try door.bind(address)
        try door.listen()
        self.server = server
        self.conditions = conditions
        generator = SeededGenerator(seed: conditions.seed &+ 1)
    }

    /// Waits for at most `span`, and does what is to be done.
    mutating func turn(for span: TimeSpan) {
        let isOpen = connections.count < Self.maximumConnections
        var descriptors = [pollfd(fd: door.number, events: isOpen ? Int16(POLLIN) : 0, revents: 0)]
        for connection in connections { descriptors += connection.descriptors }
        let before = MonotonicClock.now()
        let next = connections.compactMap(\.deadline).min()
        ProxySocket.wait(&descriptors, for: min(span, next.map { $0 - before } ?? span))
        let now = MonotonicClock.now()
        for index in connections.indices {
            connections[index].read(
                clientReports: descriptors[2 * index + 1].revents, serverReports: descriptors[2 * index + 2].revents,
                buffer, at: now, delay: conditions.delay(using: &generator))
            connections[index].write(at: now)
        }
        connections.removeAll { $0.isOver }
        if descriptors[0].revents != 0 { acceptAll(at: now) }
    }

    func close() { buffer.deallocate() }

    private mutating func acceptAll(at now: Instant) {
        while connections.count < Self.maximumConnections, let client = door.accept() {
            guard let server = try? ProxySocket(.stream), (try? server.connect(self.server)) != nil else { continue }
            // The kernel has answered the client at once; its first bytes make up for the round trip that an opening
            // takes.
            connections.append(
                ImpairedConnection(client: client, server: server, opened: now + conditions.delay * 2))
        }
    }
}
