import Dispatch
import Foundation
import Synchronization

/// Ctrl-C and the polite signal of other programs: the first cancels what runs, so that it ends cleanly; the second
/// quits at once. It listens for as long as it is held.
final class Interruption {
    private final class Arrivals: Sendable {
        private let count = Mutex(0)

        var number: Int { count.withLock { $0 } }

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    private let arrivals = Arrivals()
    private let sources: [any DispatchSourceSignal]

    /// - Parameter onFirst: what to do at the first signal.
    init(_ onFirst: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "signals")
        let arrivals = arrivals
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)  // Else the signal's default, the end of the process, comes first.
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                if arrivals.next() > 1 { _exit(128 + number) }
                onFirst()
            }
            source.resume()
            return source
        }
    }

    /// Whether a signal has come.
    var hasCome: Bool { arrivals.number > 0 }
}
