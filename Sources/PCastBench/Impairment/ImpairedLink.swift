import PCastCore
import PCastIO
import PCastNetworkEmulation
import Synchronization

/// A bad network between local addresses and servers, for UDP and TCP on the same ports. All ports share one path. It
/// runs on a thread.
final class ImpairedLink: Sendable {
    /// A local address for clients, and the server behind it.
    struct Port: Sendable {
        let address: TransportAddress
        let server: TransportAddress
    }

    /// The commands to the thread, and its statistics.
    private final class State: Sendable {
        let isStopped = Atomic(false)
        let rebindings = Atomic(0)
        let steps = Atomic(0)
        let statistics = Mutex((up: LinkStatistics(), down: LinkStatistics()))
    }

    private let state = State()
    private let thread: WorkerThread

    /// Starts the proxy. Throws `BenchFailure` if an address is unavailable.
    init(_ ports: [Port], _ conditions: NetworkConditions) throws {
        guard ports.allSatisfy({ $0.address.ip.v4 != nil && $0.server.ip.v4 != nil }) else {
            throw BenchFailure("the proxy supports IPv4 only")
        }
        let proxy = Transferred(try ImpairedPorts(ports, conditions))
        thread = try WorkerThread(name: "impair") { [state] in
            var (rebindings, steps) = (0, 0)
            while !state.isStopped.load(ordering: .relaxed) {
                let requested = state.rebindings.load(ordering: .relaxed)
                if requested != rebindings { proxy.value.rebind() }
                rebindings = requested
                while steps < state.steps.load(ordering: .relaxed) {
                    proxy.value.step()
                    steps += 1
                }
                proxy.value.runIteration()
                state.statistics.withLock { $0 = proxy.value.statistics }
            }
            proxy.value.close()
        }
    }

    var statistics: (up: LinkStatistics, down: LinkStatistics) { state.statistics.withLock { $0 } }

    /// Gives all clients other addresses towards the server.
    func rebind() { state.rebindings.add(1, ordering: .relaxed) }

    /// Applies the next requested change. Returns the number of previous ones.
    func step() -> Int { state.steps.add(1, ordering: .relaxed).oldValue }

    func stop() {
        state.isStopped.store(true, ordering: .relaxed)
        thread.join()
    }

    /// A value that is created on one thread and then used by another one only.
    private final class Transferred<Value>: @unchecked Sendable {
        var value: Value

        init(_ value: Value) { self.value = value }
    }
}
