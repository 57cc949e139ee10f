import Glibc
import PCastMedia

/// One connection through the proxy: two sockets, and what is on its way between them.
struct ImpairedConnection {
    /// One direction.
    private struct Flow {
        /// Reading pauses beyond this many bytes, as a window does.
        private static let window = 4 << 20

        private var chunks: [(arrival: Instant, bytes: ArraySlice<UInt8>)] = []
        private var waiting = 0
        private(set) var hasEnded = false
        private(set) var isDone = false

        var wantsToRead: Bool { !hasEnded && waiting < Self.window }
        var next: Instant? { chunks.first?.arrival }

        mutating func read(
            _ socket: Int32, _ buffer: UnsafeMutableRawBufferPointer, arriving arrival: Instant
        ) {
            let count = recv(socket, buffer.baseAddress, buffer.count, 0)
            if count < 0, errno == EAGAIN || errno == EINTR { return }
            if count <= 0 { hasEnded = true }
            // No bytes: the end, which arrives after all that was sent before it.
            chunks.append((max(arrival, chunks.last?.arrival ?? arrival), ArraySlice(buffer[..<max(0, count)])))
            waiting += max(0, count)
        }

        mutating func write(to socket: Int32, at now: Instant) {
            while let first = chunks.first, first.arrival <= now {
                guard !first.bytes.isEmpty else {
                    shutdown(socket, Int32(SHUT_WR))
                    isDone = true
                    return chunks.removeAll()
                }
                let sent = first.bytes.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard sent > 0 else {
                    if errno != EAGAIN, errno != ENOTCONN, errno != EINTR { isDone = true }
                    return
                }
                waiting -= sent
                chunks[0].bytes = first.bytes.dropFirst(sent)
                if chunks[0].bytes.isEmpty { chunks.removeFirst() }
            }
        }
    }

    private let client: ProxySocket
    private let server: ProxySocket
    private let opened: Instant
    private var up = Flow()
    private var down = Flow()

    /// - Parameter opened: from when on a client on a real network could have sent.
    init(client: ProxySocket, server: ProxySocket, opened: Instant) {
        self.client = client
        self.server = server
        self.opened = opened
    }

    var isOver: Bool { up.isDone && down.isDone }

    var deadline: Instant? { Instant.earlier(up.next, down.next) }

    /// The client's and the server's, to be waited for.
    var descriptors: [pollfd] {
        [
            // A negative one is passed over.
            pollfd(fd: up.wantsToRead ? client.number : -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: down.wantsToRead ? server.number : -1, events: Int16(POLLIN), revents: 0),
        ]
    }

    mutating func read(
        clientReports: Int16, serverReports: Int16, _ buffer: UnsafeMutableRawBufferPointer, at now: Instant,
        delay: TimeSpan
    ) {
        if clientReports != 0 { up.read(client.number, buffer, arriving: max(now, opened) + delay) }
        if serverReports != 0 { down.read(server.number, buffer, arriving: now + delay) }
    }

    mutating func write(at now: Instant) {
        up.write(to: server.number, at: now)
        down.write(to: client.number, at: now)
    }
}
