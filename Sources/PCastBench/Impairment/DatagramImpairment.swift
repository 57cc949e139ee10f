import Glibc
import PCastIO
import PCastMedia

/// Datagrams between clients and one server through a bad network. Each client has a socket of its own towards the
/// server, which so tells them apart.
struct DatagramImpairment {
    private struct Client {
        let address: TransportAddress
        let socket: ProxySocket
        var lastHeard: Instant
    }

    private enum Journey {
        case toServer(client: TransportAddress, [UInt8])
        case toClient(TransportAddress, [UInt8])
    }

    /// Further clients are not served; one that is silent for so long is forgotten.
    private static let maximumClients = 512
    private static let patience = TimeSpan.seconds(60)

    private let door: ProxySocket
    private let server: TransportAddress
    private let conditions: NetworkConditions
    private var generator: SeededGenerator
    private var clients: [Client] = []
    private var line = DelayLine<Journey>()
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)

    init(from address: TransportAddress, to server: TransportAddress, _ conditions: NetworkConditions) throws {
        door = try ProxySocket(.datagrams)
        try door.bind(address)
        self.server = server
        self.conditions = conditions
        generator = SeededGenerator(seed: conditions.seed)
    }

    /// Waits for at most `span`, and does what is to be done.
    mutating func turn(for span: TimeSpan) {
        var descriptors = [pollfd(fd: door.number, events: Int16(POLLIN), revents: 0)]
        descriptors += clients.map { pollfd(fd: $0.socket.number, events: Int16(POLLIN), revents: 0) }
        let rest = line.next.map { $0 - MonotonicClock.now() } ?? span
        ProxySocket.wait(&descriptors, for: min(rest, span))
        let now = MonotonicClock.now()
        for index in clients.indices where descriptors[index + 1].revents != 0 { receiveFromServer(index, at: now) }
        // Afterwards, as it adds clients whose sockets nobody has waited for.
        if descriptors[0].revents != 0 { receiveFromClients(at: now) }
        while let journey = line.pop(until: MonotonicClock.now()) { arrive(journey) }
        clients.removeAll { now - $0.lastHeard > Self.patience }
    }

    func close() { buffer.deallocate() }

    private mutating func receiveFromClients(at now: Instant) {
        while let (count, address) = door.receive(into: buffer) {
            if let index = clients.firstIndex(where: { $0.address == address }) {
                clients[index].lastHeard = now
            } else if let socket = newSocket() {
                clients.append(Client(address: address, socket: socket, lastHeard: now))
            } else {
                continue
            }
            depart(.toServer(client: address, Array(buffer[..<count])), at: now)
        }
    }

    private func newSocket() -> ProxySocket? {
        guard clients.count < Self.maximumClients, let socket = try? ProxySocket(.datagrams) else { return nil }
        return (try? socket.connect(server)) == nil ? nil : socket
    }

    private mutating func receiveFromServer(_ index: Int, at now: Instant) {
        while let (count, _) = clients[index].socket.receive(into: buffer) {
            depart(.toClient(clients[index].address, Array(buffer[..<count])), at: now)
        }
    }

    private mutating func depart(_ journey: Journey, at now: Instant) {
        let client =
            switch journey {
            case .toServer(let client, _), .toClient(let client, _): client
            }
        if client.ip == conditions.exempt { return arrive(journey) }
        if conditions.loses(using: &generator) { return }
        _ = line.insert(journey, at: now + conditions.delay(using: &generator))
    }

    /// What a socket does not take is lost, as on any network.
    private func arrive(_ journey: Journey) {
        switch journey {
        case .toServer(let address, let bytes):
            guard let client = clients.first(where: { $0.address == address }) else { return }
            send(client.socket.number, bytes, bytes.count, 0)
        case .toClient(let address, let bytes):
            _ = ProxySocket.with(address) { sendto(door.number, bytes, bytes.count, 0, $0, $1) }
        }
    }
}
