import PCastCore
import PCastIO

/// Reports when cameras or audio devices of PipeWire appear or disappear, also with the server. The callback lists them.
final class PipeWireDeviceMonitor: Sendable {
    /// The time after which a server is searched again.
    private static let retryInterval = TimeSpan.seconds(2)

    private struct State: Sendable {
        var registry: PipeWireRegistry?
        var isStopped = false
    }

    private let state: Monitor<State>
    private let thread: WorkerThread

    /// Starts to watch. `changed` is called on the monitor's own thread, at the start if there is a server, because devices
    /// may have changed before it was watched. Throws `DeviceError.noThread`.
    init(_ interest: PipeWireRegistry.Interest, changed: @escaping @Sendable () -> Void) throws(DeviceError) {
        let state = Monitor(State())
        self.state = state
        do {
            thread = try WorkerThread(name: "pipewire-watch") { Self.run(state, interest, changed) }
        } catch {
            throw .noThread("\(error)")
        }
    }

    deinit { stop() }

    /// Stops the monitor and waits until a running callback has returned, except when the callback calls it.
    func stop() {
        let registry = state.withLock { state, condition in
            state.isStopped = true
            condition.wakeAll()
            return state.registry
        }
        registry?.interrupt()
        thread.join()
    }

    private static func run(
        _ state: Monitor<State>, _ interest: PipeWireRegistry.Interest, _ changed: () -> Void
    ) {
        while true {
            if PipeWireServerProbe.mayHaveServer(), let registry = try? PipeWireRegistry(interest) {
                let isStopped = state.withLock { state, _ in
                    state.registry = registry
                    return state.isStopped
                }
                if !isStopped { watch(registry, changed) }
                state.withLock { state, _ in state.registry = nil }
                registry.close()
            }
            let isStopped = state.wait(until: MonotonicClock.now() + retryInterval) { $0.isStopped ? true : nil }
            if isStopped == true { return }
        }
    }

    /// Calls `changed` after each change, until the server ends or the monitor is stopped.
    private static func watch(_ registry: PipeWireRegistry, _ changed: () -> Void) {
        /// The number of reported changes; nil before the list is complete.
        var reported: Int?
        while true {
            let (changes, isOver) =
                registry.wait(until: nil) { state -> (Int?, Bool)? in
                    if state.isInterrupted { return (nil, true) }
                    if state.end != nil { return (state.changes + 1, true) }
                    return state.isComplete && state.changes != reported ? (state.changes, false) : nil
                } ?? (nil, true)
            if let changes {
                reported = changes
                changed()
            }
            if isOver { return }
        }
    }
}
