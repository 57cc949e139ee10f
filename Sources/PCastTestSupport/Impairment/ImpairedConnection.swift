import CLinux
import Glibc
import PCastCore

/// A TCP connection through the proxy: two sockets. Its bytes pass the path that all connections share.
struct ImpairedConnection {
    /// The bytes that have arrived in one direction, for a socket that may not accept them at once.
    private struct Outbox {
        private var bytes: [UInt8] = []
        private var hasEnd = false
        private(set) var isDone = false

        var isWaiting: Bool { !isDone && (!bytes.isEmpty || hasEnd) }

        /// Adds bytes; an empty array is the end of the stream.
        mutating func append(_ arrived: [UInt8]) {
            if arrived.isEmpty { hasEnd = true } else { bytes += arrived }
        }

        mutating func write(to socket: Int32) {
            while !bytes.isEmpty, !isDone {
                let sent = bytes.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard sent > 0 else {
                    if errno != EAGAIN, errno != ENOTCONN, errno != EINTR { isDone = true }
                    return
                }
                bytes.removeFirst(sent)
            }
            guard hasEnd, !isDone else { return }
            shutdown(socket, Int32(SHUT_WR))
            isDone = true
        }
    }

    let number: Int
    /// The time from which a client on a real network could have sent.
    let opened: Instant
    private let client: ProxySocket
    private let server: ProxySocket
    private var up = Outbox()
    private var down = Outbox()
    private var hasClientEnded = false
    private var hasServerEnded = false

    init(_ number: Int, client: ProxySocket, server: ProxySocket, opened: Instant) {
        self.number = number
        self.client = client
        self.server = server
        self.opened = opened
    }

    var isOver: Bool { up.isDone && down.isDone }

    /// The descriptors of client and server to wait for. A side is not read while the other side has not accepted its
    /// data, like with TCP's flow control.
    func descriptors(hasSpaceUp: Bool, hasSpaceDown: Bool, at now: Instant) -> [pollfd] {
        let readsClient = !hasClientEnded && hasSpaceUp && !up.isWaiting && now >= opened
        let readsServer = !hasServerEnded && hasSpaceDown && !down.isWaiting
        return [
            Self.descriptor(client, reads: readsClient, writes: down.isWaiting),
            Self.descriptor(server, reads: readsServer, writes: up.isWaiting),
        ]
    }

    /// Returns a descriptor; a negative one is ignored by poll(2).
    private static func descriptor(_ socket: ProxySocket, reads: Bool, writes: Bool) -> pollfd {
        let events = (reads ? POLLIN : 0) | (writes ? POLLOUT : 0)
        return pollfd(fd: events == 0 ? -1 : socket.number, events: Int16(events), revents: 0)
    }

    mutating func serve(
        port: Int, client clientReport: Int16, server serverReport: Int16, _ buffer: UnsafeMutableRawBufferPointer,
        into path: inout ImpairedPath, at now: Instant
    ) {
        if clientReport & Int16(POLLOUT) != 0 { down.write(to: client.number) }
        if serverReport & Int16(POLLOUT) != 0 { up.write(to: server.number) }
        let readable = Int16(POLLIN | POLLHUP | POLLERR)
        if clientReport & readable != 0, !hasClientEnded, now >= opened {
            hasClientEnded = read(client, port, isUp: true, buffer, into: &path, at: now)
        }
        if serverReport & readable != 0, !hasServerEnded {
            hasServerEnded = read(server, port, isUp: false, buffer, into: &path, at: now)
        }
    }

    /// Reads as much as the path accepts. Returns whether the stream ended.
    private func read(
        _ socket: ProxySocket, _ port: Int, isUp: Bool, _ buffer: UnsafeMutableRawBufferPointer,
        into path: inout ImpairedPath, at now: Instant
    ) -> Bool {
        while path.hasSpace(isUp: isUp) {
            let count = recv(socket.number, buffer.baseAddress, ImpairedPath.segmentSize, 0)
            if count < 0, errno == EAGAIN || errno == EINTR { return false }
            let bytes = Array(buffer[..<max(0, count)])
            path.send(.segment(port: port, connection: number, bytes), isUp: isUp, at: now)
            if count <= 0 { return true }
        }
        return false
    }

    mutating func arrive(_ bytes: [UInt8], isUp: Bool) {
        if isUp {
            up.append(bytes)
            up.write(to: server.number)
        } else {
            down.append(bytes)
            down.write(to: client.number)
        }
    }
}
