import Foundation

/// The signals of Ctrl-C and of a supervisor.
enum StopSignals {
    static func wait() async {
        let (signals, continuation) = AsyncStream<Void>.makeStream()
        let sources = [SIGINT, SIGTERM].map { source(of: $0) { continuation.yield() } }
        for await _ in signals { break }
        sources.forEach { $0.cancel() }
    }

    /// Calls `action` at each signal of this number, until the returned source is cancelled.
    static func on(_ number: Int32, _ action: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
        source(of: number, action)
    }

    private static func source(
        of number: Int32, _ action: @escaping @Sendable () -> Void
    ) -> any DispatchSourceSignal {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number)
        source.setEventHandler(handler: action)
        source.resume()
        return source
    }
}
