import Dispatch
import Foundation
import PCastIO
import PCastJSON

/// Reads the configuration again when its file has become another, and whenever a SIGHUP asks for it. What cannot be used is
/// told, and everything stays as it was.
final class Reloading {
    private let reading: Task<Void, Never>
    private let watching: Task<Void, Never>
    private let hangup: any DispatchSourceSignal

    private static let interval = Duration.seconds(1)

    /// - Parameters:
    ///   - path: of the file, whether it is there or not; nil for none.
    ///   - reload: never called twice at one time.
    init(path: String?, _ console: Console, _ reload: @escaping @Sendable () async throws -> Void) {
        let (wishes, wish) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        signal(SIGHUP, SIG_IGN)  // Else its default, the end of the process, comes first.
        hangup = DispatchSource.makeSignalSource(signal: SIGHUP, queue: DispatchQueue(label: "hangup"))
        hangup.setEventHandler { wish.yield() }
        hangup.resume()
        reading = Task { for await _ in wishes { await Reloading.attempt(reload, console) } }
        watching = Task {
            var changes = FileChanges(path.map { [$0] } ?? [])
            while (try? await Task.sleep(for: Reloading.interval)) != nil {
                if changes.look() { wish.yield() }
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
            console.say("The configuration could not be read again, and stays as it was: \(reason)")
        }
    }
}
