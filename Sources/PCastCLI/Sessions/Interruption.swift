import Dispatch
import Foundation
import PCastIO
import PCastMedia
import Synchronization

/// Ctrl-C and the polite signal of other programs: the first cancels what runs, so that it ends cleanly; a later one
/// quits at once. It listens for as long as it is held. A reader that closes standard output is the same as a first one.
final class Interruption {
    private final class Arrivals: Sendable {
        /// A shell and a program between hand on the same key press, each by itself.
        private static let echo = TimeSpan.milliseconds(300)

        private let first = Mutex<Instant?>(nil)

        var hasCome: Bool { first.withLock { $0 != nil } }

        enum Arrival { case first, echo, later }

        func next(at now: Instant) -> Arrival {
            first.withLock { first in
                guard let began = first else {
                    first = now
                    return .first
                }
                return now - began < Self.echo ? .echo : .later
            }
        }
    }

    private let arrivals = Arrivals()
    private let sources: [any DispatchSourceSignal]
    private let closing: Int

    /// - Parameter onFirst: what to do at the first signal.
    init(_ onFirst: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "signals")
        let arrivals = arrivals
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)  // Else the signal's default, the end of the process, comes first.
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                switch arrivals.next(at: SystemClock.monotonic()) {
                case .first: onFirst()
                case .echo: break
                case .later: _exit(128 + number)
                }
            }
            source.resume()
            return source
        }
        closing = StandardOutput.whenClosed {
            // On another thread: whoever writes may hold what the end needs.
            queue.async { if case .first = arrivals.next(at: SystemClock.monotonic()) { onFirst() } }
        }
    }

    deinit { StandardOutput.forget(closing) }

    /// Whether a signal has come.
    var hasCome: Bool { arrivals.hasCome }
}
