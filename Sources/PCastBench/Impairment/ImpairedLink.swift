import PCastIO
import PCastMedia
import PCastNetwork
import Synchronization

/// A bad network between addresses of this machine and a server's, for UDP and TCP on the same ports: one path, which
/// all ports share, on a thread.
final class ImpairedLink: Sendable {
    /// Where clients come, and where that leads.
    struct Port: Sendable {
        let address: TransportAddress
        let server: TransportAddress
    }

    /// What the thread looks at, and what it tells.
    private final class State: Sendable {
        let isStopped = Atomic(false)
        let rebindings = Atomic(0)
        let steps = Atomic(0)
        let statistics = Mutex((up: LinkStatistics(), down: LinkStatistics()))
    }

    private let state = State()
    private let thread: WorkerThread

    /// - Throws: `BenchFailure` when an address cannot be had.
    init(_ ports: [Port], _ conditions: NetworkConditions) throws {
        guard ports.allSatisfy({ $0.address.ip.v4 != nil && $0.server.ip.v4 != nil }) else {
            throw BenchFailure("the proxy speaks IPv4")
        }
        let proxy = Handover(try ImpairedPorts(ports, conditions))
        thread = try WorkerThread(name: "impair") { [state] in
            var (rebindings, steps) = (0, 0)
            while !state.isStopped.load(ordering: .relaxed) {
                let asked = state.rebindings.load(ordering: .relaxed)
                if asked != rebindings { proxy.value.rebind() }
                rebindings = asked
                while steps < state.steps.load(ordering: .relaxed) {
                    proxy.value.step()
                    steps += 1
                }
                proxy.value.turn()
                state.statistics.withLock { $0 = proxy.value.statistics }
            }
            proxy.value.close()
        }
    }

    var statistics: (up: LinkStatistics, down: LinkStatistics) { state.statistics.withLock { $0 } }

    /// Gives all clients other addresses towards the server.
    func rebind() { state.rebindings.add(1, ordering: .relaxed) }

    /// Makes the next change that waits to be asked for; returns how many have been asked for before it.
    func step() -> Int { state.steps.add(1, ordering: .relaxed).oldValue }

    func stop() {
        state.isStopped.store(true, ordering: .relaxed)
        thread.join()
    }

    /// A value made on one thread and then used by one other alone.
    private final class Handover<Value>: @unchecked Sendable {
        var value: Value

        init(_ value: Value) { self.value = value }
    }
}
