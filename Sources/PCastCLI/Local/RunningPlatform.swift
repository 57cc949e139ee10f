import PCastPlatform

/// A platform that runs in this process until it is stopped.
final class RunningPlatform: Sendable {
    let listening: PlatformListening
    private let task: Task<Void, any Error>

    private init(_ listening: PlatformListening, _ task: Task<Void, any Error>) {
        self.listening = listening
        self.task = task
    }

    /// Starts a platform; returns when it listens.
    static func start(_ configuration: PlatformConfiguration) async throws -> RunningPlatform {
        let platform = Platform(configuration)
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
            for try await listening in started { return RunningPlatform(listening, task) }
        } catch {
            throw failure(error)
        }
        task.cancel()
        _ = await task.result
        throw CancellationError()
    }

    /// Starts a platform at the first of several places that is free.
    static func start(firstOf configurations: [PlatformConfiguration]) async throws -> RunningPlatform {
        for configuration in configurations.dropLast() {
            do {
                return try await start(configuration)
            } catch let failure as CommandFailure where failure.status == .failed {
                continue
            }
        }
        return try await start(configurations[configurations.count - 1])
    }

    /// Returns when the platform has ended by itself, or the calling task was cancelled and the platform with it.
    func waitForEnd() async throws {
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Ends every session and stream.
    func stop() async {
        task.cancel()
        _ = await task.result
    }

    private static func failure(_ error: any Error) -> CommandFailure {
        if case PlatformError.invalidHost? = error as? PlatformError {
            return CommandFailure(.unusableArguments, "\(error).")
        }
        return CommandFailure(.failed, "The platform could not start: \(error).")
    }
}
