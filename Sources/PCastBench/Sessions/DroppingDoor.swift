import Glibc
import PCastIO
import PCastMedia
import PCastNetwork
import Synchronization

/// A way to a server on which connections break after a random time, without a word from either side.
final class DroppingDoor: Sendable {
    /// What is told the door's thread, and what it tells.
    private struct State {
        /// How long connections live on the average; nil lets them be.
        var meanLife: TimeSpan?
        var isOver = false
        var dropped = 0
    }

    let address: TransportAddress
    private let state: Mutex<State>
    private let thread = Mutex<WorkerThread?>(nil)

    /// - Parameters:
    ///   - server: on the same machine.
    ///   - meanLife: lives are spread evenly from nothing to twice that.
    init(to server: TransportAddress, meanLife: TimeSpan, seed: UInt64) throws {
        let address = try Self.freePort(at: server.ip)
        self.address = address
        state = Mutex(State(meanLife: meanLife))
        let worker = try WorkerThread(name: "dropping-door") { [self] in
            guard let door = try? Self.door(at: address) else { return }
            var way = DroppingWay(door, to: server, seed: seed)
            while let meanLife = look(at: way) { way.turn(meanLife: meanLife) }
        }
        thread.withLock { $0 = worker }
    }

    /// - Returns: nil when it is over, else how long connections live.
    private func look(at way: borrowing DroppingWay) -> TimeSpan?? {
        let dropped = way.dropped
        return state.withLock { state in
            state.dropped = dropped
            return state.isOver ? nil : .some(state.meanLife)
        }
    }

    /// Connections that were broken so far.
    var dropped: Int { state.withLock { $0.dropped } }

    /// From now on nothing breaks any more.
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

    /// One that nobody has at the moment.
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
