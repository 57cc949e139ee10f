import CLinux
import Glibc
import PCastCore
import PCastIO
import PCastNetworkEmulation

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

    /// Opens the port. `number` is its number among the proxy's ports. Throws `BenchFailure`.
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
