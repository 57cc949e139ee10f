import Dispatch
import Foundation
import PCastCore
import PCastIO
import Synchronization

/// A handler of SIGINT (Ctrl-C) and SIGTERM. The first signal stops the command cleanly, and a later one ends the
/// process at once. It is active until it is released. If the reader closes standard output, that counts as a first
/// signal.
final class InterruptHandler {
    private final class SignalCount: Sendable {
        /// The time in which further signals are ignored, because a shell and a wrapper program may both forward the
        /// same key press.
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

    private let arrivals = SignalCount()
    private let sources: [any DispatchSourceSignal]
    private let closing: Int

    /// Installs the handler. `onFirst` is called at the first signal.
    init(_ onFirst: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "signals")
        let arrivals = arrivals
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)  // Otherwise the default action would end the process first.
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
            // It runs on another thread, because the writing thread may hold locks that stopping needs.
            queue.async { if case .first = arrivals.next(at: SystemClock.monotonic()) { onFirst() } }
        }
    }

    deinit { StandardOutput.discard(closing) }

    /// Whether a signal has arrived.
    var hasCome: Bool { arrivals.hasCome }
}
