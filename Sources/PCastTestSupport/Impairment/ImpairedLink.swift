package import PCastCore
import PCastIO
import Synchronization

/// A bad network between local addresses and servers, for UDP and TCP on the same ports. All ports share one path. It
/// runs on a thread.
package final class ImpairedLink: Sendable {
    /// A local address for clients, and the server behind it.
    package struct Port: Sendable {
        let address: TransportAddress
        let server: TransportAddress

        /// Creates a port.
        package init(address: TransportAddress, server: TransportAddress) {
            self.address = address
            self.server = server
        }
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

    /// Starts the proxy. Throws ``ImpairmentError`` if an address is unavailable.
    package init(_ ports: [Port], _ conditions: NetworkConditions) throws {
        guard ports.allSatisfy({ $0.address.ip.v4 != nil && $0.server.ip.v4 != nil }) else {
            throw ImpairmentError("the proxy supports IPv4 only: give IPv4 addresses")
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

    /// The statistics of both directions.
    package var statistics: (up: LinkStatistics, down: LinkStatistics) { state.statistics.withLock { $0 } }

    /// Gives all clients other addresses towards the server.
    package func rebind() { state.rebindings.add(1, ordering: .relaxed) }

    /// Applies the next requested change. Returns the number of previous ones.
    package func step() -> Int { state.steps.add(1, ordering: .relaxed).oldValue }

    /// Stops the proxy and waits for its thread.
    package func stop() {
        state.isStopped.store(true, ordering: .relaxed)
        thread.join()
    }

    /// A value that is created on one thread and then used by another one only.
    private final class Transferred<Value>: @unchecked Sendable {
        var value: Value

        init(_ value: Value) { self.value = value }
    }
}

/// The reason for which the proxy cannot be started.
package struct ImpairmentError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
