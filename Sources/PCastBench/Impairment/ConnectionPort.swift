import CLinux
import Glibc
import PCastCore
import PCastIO

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
