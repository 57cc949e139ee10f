import Glibc
import PCastCore
import PCastIO
import PCastNetworkEmulation
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
            while let meanLifetime = look(at: sockets) { sockets.turn(meanLifetime: meanLifetime) }
        }
        thread.withLock { $0 = worker }
    }

    /// Updates the number of closed connections. Returns nil if the proxy has been closed, otherwise the mean lifetime.
    private func look(at sockets: borrowing DroppingProxySockets) -> TimeSpan?? {
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
