import Dispatch
import Foundation
import PCastIO
import PCastJSON

/// Reloads the configuration when its file changes, and at SIGHUP. An invalid configuration is reported and changes
/// nothing.
final class ConfigurationReloader {
    private let reading: Task<Void, Never>
    private let watching: Task<Void, Never>
    private let hangup: any DispatchSourceSignal

    private static let interval = Duration.seconds(1)

    /// Starts to watch a file, which need not exist; nil for none. `reload` is never called concurrently.
    init(path: String?, _ console: Console, _ reload: @escaping @Sendable () async throws -> Void) {
        let (requests, request) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        signal(SIGHUP, SIG_IGN)  // Otherwise the default action would end the process first.
        hangup = DispatchSource.makeSignalSource(signal: SIGHUP, queue: DispatchQueue(label: "hangup"))
        hangup.setEventHandler { request.yield() }
        hangup.resume()
        reading = Task { for await _ in requests { await ConfigurationReloader.attempt(reload, console) } }
        watching = Task {
            var changes = FileChanges(path.map { [$0] } ?? [])
            while (try? await Task.sleep(for: ConfigurationReloader.interval)) != nil {
                if changes.look() { request.yield() }
            }
        }
    }

    func stop() {
        watching.cancel()
        reading.cancel()
        hangup.cancel()
    }

    private static func attempt(_ reload: () async throws -> Void, _ console: Console) async {
        do {
            try await reload()
        } catch {
            let failure = error as? CommandFailure ?? CommandFailure(.failed, describing: error)
            let reason = failure.sentence ?? "\(error)"
            console.event("reloadFailed", ["reason": .string(reason)])
            console.warn("The configuration could not be reloaded and is unchanged: \(reason)")
        }
    }
}
