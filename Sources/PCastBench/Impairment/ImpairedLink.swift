import PCastIO
import PCastMedia
import Synchronization

/// A bad network between an address of this machine and a server, for UDP and TCP on one port, on two threads.
final class ImpairedLink: Sendable {
    private static let longestWait = TimeSpan.milliseconds(50)

    private let isStopped: Flag
    private let threads: [WorkerThread]

    /// What the threads look at.
    private final class Flag: Sendable {
        let value = Atomic(false)
    }

    /// - Throws: `BenchFailure` when the address cannot be had.
    init(from address: TransportAddress, to server: TransportAddress, _ conditions: NetworkConditions) throws {
        guard address.ip.v4 != nil, server.ip.v4 != nil else { throw BenchFailure("the proxy speaks IPv4") }
        let flag = Flag()
        isStopped = flag
        let datagrams = Handover(try DatagramImpairment(from: address, to: server, conditions))
        let connections = Handover(try ConnectionImpairment(from: address, to: server, conditions))
        threads = [
            try WorkerThread(name: "impair-udp") {
                while !flag.value.load(ordering: .relaxed) { datagrams.value.turn(for: Self.longestWait) }
                datagrams.value.close()
            },
            try WorkerThread(name: "impair-tcp") {
                while !flag.value.load(ordering: .relaxed) { connections.value.turn(for: Self.longestWait) }
                connections.value.close()
            },
        ]
    }

    func stop() {
        isStopped.value.store(true, ordering: .relaxed)
        threads.forEach { $0.join() }
    }

    /// A value made on one thread and then used by one other alone.
    private final class Handover<Value>: @unchecked Sendable {
        var value: Value

        init(_ value: Value) { self.value = value }
    }
}
