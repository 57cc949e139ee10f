import PCastCore
import PCastPlatform
import Synchronization

/// A platform that runs in this process until it is stopped.
final class RunningPlatform: Sendable {
    let listening: PlatformListening
    private let platform: Platform
    private let task: Task<Void, any Error>
    /// The maximum time that the platform takes to stop.
    private let ending: Mutex<TimeSpan>
    /// Raised when the platform is stopping, because closed connections need not be reported then.
    private let isEnding: AtomicFlag

    private init(
        _ platform: Platform, _ listening: PlatformListening, drainTime: TimeSpan, _ task: Task<Void, any Error>,
        _ isEnding: AtomicFlag
    ) {
        self.platform = platform
        ending = Mutex(drainTime)
        self.listening = listening
        self.task = task
        self.isEnding = isEnding
    }

    /// Starts a platform. Returns when it listens.
    ///
    /// - Throws: ``CommandFailure``, or `CancellationError`.
    static func start(_ configuration: PlatformConfiguration, _ console: Console) async throws -> RunningPlatform {
        let isEnding = AtomicFlag()
        let platform = Platform(
            configuration, logger: ConsoleLogHandler.logger("platform", on: console, until: isEnding))
        let (started, continuation) = AsyncThrowingStream<PlatformListening, any Error>.makeStream()
        let task = Task {
            do {
                try await platform.run { listening in continuation.yield(listening) }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
                throw error
            }
        }
        do {
            for try await listening in started {
                return RunningPlatform(
                    platform, listening, drainTime: TimeSpan(configuration.drainTime), task, isEnding)
            }
        } catch {
            throw failure(error)
        }
        task.cancel()
        _ = await task.result
        throw CancellationError()
    }

    /// Starts a platform with the first configuration whose address is free.
    ///
    /// - Throws: ``CommandFailure``, or `CancellationError`.
    static func start(
        firstOf configurations: [PlatformConfiguration], _ console: Console
    ) async throws -> RunningPlatform {
        for configuration in configurations.dropLast() {
            do {
                return try await start(configuration, console)
            } catch let failure as CommandFailure where failure.status == .failed {
                continue
            }
        }
        return try await start(configurations[configurations.count - 1], console)
    }

    /// Applies another configuration; see `Platform.apply`.
    ///
    /// - Throws: `PlatformError`.
    func apply(_ configuration: PlatformConfiguration) async throws(PlatformError) -> PlatformChanges {
        let changes = try await platform.apply(configuration)
        ending.withLock { $0 = TimeSpan(configuration.drainTime) }
        return changes
    }

    /// Whether all parts of the platform respond; see `Platform.isResponsive`. It waits for those that do not.
    var isResponsive: Bool { get async { await platform.isResponsive } }

    var drainTime: TimeSpan { ending.withLock { $0 } }

    /// Waits until the platform ends. Cancelling the calling task stops the platform.
    ///
    /// - Throws: The error with which the platform ended.
    func waitForEnd() async throws {
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            isEnding.set()
            task.cancel()
        }
    }

    /// Ends all sessions and streams, and waits for the platform to stop.
    func stop() async {
        isEnding.set()
        task.cancel()
        _ = await task.result
    }

    private static func failure(_ error: any Error) -> CommandFailure {
        switch error as? PlatformError {
        case .invalidHost: CommandFailure(.unusableArguments, describing: error)
        // A service manager does not restart a service with this status, because a restart would not help.
        case .certificate, .keySet: CommandFailure(.unusableArguments, describing: error)
        default: CommandFailure(.failed, describing: error, after: "The platform could not start: ")
        }
    }
}
