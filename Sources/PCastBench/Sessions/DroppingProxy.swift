import Glibc
import PCastCore
import PCastIO
import PCastTestSupport
import Synchronization

/// A TCP proxy that closes each connection after a random time.
final class DroppingProxy: Sendable {
    /// The state shared with the proxy's thread.
    private struct State {
        /// The mean lifetime of connections; nil to keep them open.
        var meanLifetime: TimeSpan?
        var isOver = false
        var dropped = 0
    }

    let address: TransportAddress
    private let state: Mutex<State>
    private let thread = Mutex<WorkerThread?>(nil)

    /// Starts a proxy to a server on the same machine. Lifetimes are distributed uniformly between zero and twice
    /// `meanLifetime`. Throws an error if a socket or thread cannot be created.
    init(to server: TransportAddress, meanLifetime: TimeSpan, seed: UInt64) throws {
        let address = try Self.freePort(at: server.ip)
        self.address = address
        state = Mutex(State(meanLifetime: meanLifetime))
        let worker = try WorkerThread(name: "dropping-proxy") { [self] in
            guard let listeningSocket = try? Self.listeningSocket(at: address) else { return }
            var sockets = DroppingProxySockets(listeningSocket, to: server, seed: seed)
            while let meanLifetime = update(from: sockets) { sockets.runIteration(meanLifetime: meanLifetime) }
        }
        thread.withLock { $0 = worker }
    }

    /// Updates the number of closed connections. Returns nil if the proxy has been closed, otherwise the mean lifetime.
    private func update(from sockets: borrowing DroppingProxySockets) -> TimeSpan?? {
        let dropped = sockets.dropped
        return state.withLock { state in
            state.dropped = dropped
            return state.isOver ? nil : .some(state.meanLifetime)
        }
    }

    /// The number of connections that the proxy has closed.
    var dropped: Int { state.withLock { $0.dropped } }

    /// Stops closing connections.
    func stopDropping() { state.withLock { $0.meanLifetime = nil } }

    func close() {
        state.withLock { $0.isOver = true }
        thread.withLock { $0.take() }?.join()
    }

    private static func listeningSocket(at address: TransportAddress) throws -> ProxySocket {
        let listeningSocket = try ProxySocket(.stream)
        try listeningSocket.bind(address)
        try listeningSocket.listen()
        return listeningSocket
    }

    /// Returns an address with a port that is unused at present.
    private static func freePort(at ip: IPAddress) throws -> TransportAddress {
        let socket = try ProxySocket(.stream)
        try socket.bind(TransportAddress(ip: ip, port: 0))
        var name = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket.number, $0, &size) }
        }
        return TransportAddress(ip: ip, port: UInt16(bigEndian: name.sin_port))
    }
}

/// The sockets of a ``DroppingProxy``; they belong to its thread.
struct DroppingProxySockets: ~Copyable {
    private struct Connection {
        let client: ProxySocket
        let server: ProxySocket
        let end: Instant
        /// The bytes received from one side and not yet sent to the other.
        var up: [UInt8] = []
        var down: [UInt8] = []
        var isOver = false
    }

    private static let longestWait = TimeSpan.milliseconds(20)
    /// The maximum number of unsent bytes; while there are more, nothing is read from the other side.
    private static let maximumUnsent = 1 << 16

    private let listeningSocket: ProxySocket
    private let server: TransportAddress
    private var connections: [Connection] = []
    private var generator: SeededGenerator
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 14, alignment: 16)
    private(set) var dropped = 0

    /// Creates the state for a listening socket.
    init(_ listeningSocket: ProxySocket, to server: TransportAddress, seed: UInt64) {
        self.listeningSocket = listeningSocket
        self.server = server
        generator = SeededGenerator(seed: seed)
    }

    deinit { buffer.deallocate() }

    /// Waits for at most `longestWait` and handles all sockets that are ready. Connections are kept open if `meanLifetime`
    /// is nil.
    mutating func runIteration(meanLifetime: TimeSpan?) {
        var descriptors = [pollfd(fd: listeningSocket.number, events: Int16(POLLIN), revents: 0)]
        for connection in connections {
            descriptors.append(Self.descriptor(connection.client, sends: connection.up, takes: connection.down))
            descriptors.append(Self.descriptor(connection.server, sends: connection.down, takes: connection.up))
        }
        ProxySocket.wait(&descriptors, for: Self.longestWait)
        for index in connections.indices {
            move(index, client: descriptors[2 * index + 1].revents, server: descriptors[2 * index + 2].revents)
        }
        let now = MonotonicClock.now()
        if meanLifetime != nil {
            for index in connections.indices where connections[index].end <= now && !connections[index].isOver {
                connections[index].isOver = true
                dropped += 1
            }
        }
        // Releasing the sockets closes them.
        connections.removeAll { $0.isOver }
        if descriptors[0].revents != 0 { acceptAll(meanLifetime: meanLifetime ?? .seconds(3_600), at: now) }
    }

    private static func descriptor(_ socket: ProxySocket, sends: [UInt8], takes: [UInt8]) -> pollfd {
        let events = (sends.count < maximumUnsent ? POLLIN : 0) | (takes.isEmpty ? 0 : POLLOUT)
        return pollfd(fd: socket.number, events: Int16(events), revents: 0)
    }

    private mutating func acceptAll(meanLifetime: TimeSpan, at now: Instant) {
        while let client = listeningSocket.accept() {
            guard let server = try? ProxySocket(.stream), (try? server.connect(self.server)) != nil else { continue }
            let lifetime = TimeSpan(seconds: Double.random(in: 0...2 * meanLifetime.seconds, using: &generator))
            connections.append(Connection(client: client, server: server, end: now + lifetime))
        }
    }

    private mutating func move(_ index: Int, client: Int16, server: Int16) {
        let readable = Int16(POLLIN | POLLHUP | POLLERR)
        if client & readable != 0 {
            let isOver = Self.read(connections[index].client, into: &connections[index].up, buffer)
            if isOver { connections[index].isOver = true }
        }
        if server & readable != 0 {
            let isOver = Self.read(connections[index].server, into: &connections[index].down, buffer)
            if isOver { connections[index].isOver = true }
        }
        Self.write(&connections[index].up, to: connections[index].server)
        Self.write(&connections[index].down, to: connections[index].client)
    }

    /// Receives available bytes. Returns whether the connection has ended.
    private static func read(
        _ socket: ProxySocket, into bytes: inout [UInt8], _ buffer: UnsafeMutableRawBufferPointer
    ) -> Bool {
        let count = recv(socket.number, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else { return count == 0 || (errno != EAGAIN && errno != EINTR) }
        bytes += buffer[..<count]
        return false
    }

    private static func write(_ bytes: inout [UInt8], to socket: ProxySocket) {
        guard !bytes.isEmpty else { return }
        let sent = bytes.withUnsafeBytes { send(socket.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if sent > 0 { bytes.removeFirst(sent) }
    }
}
