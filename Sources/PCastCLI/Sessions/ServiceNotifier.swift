import Foundation
import PCastCore
import PCastIO
import Synchronization

/// Reports the state of `pcast serve` to the service manager that started it. Without one, it does nothing.
///
/// If the manager has a watchdog, the notifier reports that the platform is alive, as long as the platform responds.
final class ServiceNotifier: Sendable {
    private let manager: ServiceManagerSocket?
    private let console: Console
    private let watchdog = Mutex<Task<Void, Never>?>(nil)

    /// The number of reports in the time after which the manager ends a service without reports.
    private static let reportsPerTimeout: Int64 = 3

    /// Creates the notifier for the manager that the environment names.
    ///
    /// - Throws: ``CommandFailure`` if the manager's address cannot be used.
    init(_ console: Console, environment: [String: String] = ProcessInfo.processInfo.environment) throws(CommandFailure)
    {
        self.console = console
        do throws(IOError) { manager = try ServiceManagerSocket(environment: environment) } catch {
            throw CommandFailure(.failed, describing: error, after: "The service manager cannot be notified: ")
        }
    }

    /// Reports that the platform listens, and starts the reports to the watchdog. `isResponsive` returns whether the
    /// platform responds.
    func didStart(_ status: String, isResponsive: @escaping @Sendable () async -> Bool) {
        notify(.ready, .status(status))
        guard let timeout = manager?.watchdogTimeout else { return }
        let interval = (timeout / Self.reportsPerTimeout).duration
        let task = Task { [weak self] in
            repeat {
                if await isResponsive() { self?.notify(.alive) }
            } while (try? await Task.sleep(for: interval)) != nil
        }
        watchdog.withLock { $0 = task }
    }

    /// Runs a reload of the configuration, and reports its beginning and its end.
    func reload(_ operation: () async throws -> Void) async throws {
        notify(.reloading(MonotonicClock.now()))
        defer { notify(.ready) }
        try await operation()
    }

    /// Reports that the platform has begun to stop, which takes at most `time`.
    func willStop(within time: TimeSpan) { notify(.stopping, .status("Stopping."), .extendedTimeout(time)) }

    /// Stops the reports to the watchdog.
    func finish() { watchdog.withLock { $0?.cancel() } }

    private func notify(_ states: ServiceManagerSocket.State...) {
        guard let manager else { return }
        do throws(IOError) { try manager.notify(states) } catch {
            console.warn("The service manager was not notified: \(error)")
        }
    }
}
