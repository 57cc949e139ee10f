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
        var meanLife: TimeSpan?
        var isOver = false
        var dropped = 0
    }

    let address: TransportAddress
    private let state: Mutex<State>
    private let thread = Mutex<WorkerThread?>(nil)

    /// Starts a proxy to a server on the same machine. Lifetimes are distributed uniformly between zero and twice
    /// `meanLife`. Throws an error if a socket or thread cannot be created.
    init(to server: TransportAddress, meanLife: TimeSpan, seed: UInt64) throws {
        let address = try Self.freePort(at: server.ip)
        self.address = address
        state = Mutex(State(meanLife: meanLife))
        let worker = try WorkerThread(name: "dropping-door") { [self] in
            guard let door = try? Self.door(at: address) else { return }
            var way = DroppingProxySockets(door, to: server, seed: seed)
            while let meanLife = look(at: way) { way.turn(meanLife: meanLife) }
        }
        thread.withLock { $0 = worker }
    }

    /// Updates the number of closed connections. Returns nil if the proxy has been closed, otherwise the mean lifetime.
    private func look(at way: borrowing DroppingProxySockets) -> TimeSpan?? {
        let dropped = way.dropped
        return state.withLock { state in
            state.dropped = dropped
            return state.isOver ? nil : .some(state.meanLife)
        }
    }

    /// The number of connections that the proxy has closed.
    var dropped: Int { state.withLock { $0.dropped } }

    /// Stops closing connections.
    func calm() { state.withLock { $0.meanLife = nil } }

    func close() {
        state.withLock { $0.isOver = true }
        thread.withLock { $0.take() }?.join()
    }

    private static func door(at address: TransportAddress) throws -> ProxySocket {
        let door = try ProxySocket(.stream)
        try door.bind(address)
        try door.listen()
        return door
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
