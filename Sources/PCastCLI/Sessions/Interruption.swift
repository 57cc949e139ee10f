import Dispatch
import Foundation
import Synchronization

/// Ctrl-C and the polite signal of other programs: the first cancels what runs, so that it ends cleanly; the second
/// quits at once.
final class Interruption: Sendable {
    private let count = Mutex(0)
    private let sources: Mutex<[any DispatchSourceSignal]>
    private let queue = DispatchQueue(label: "signals")

    init(_ onFirst: @escaping @Sendable () -> Void) {
        sources = Mutex([])
        for number in [SIGINT, SIGTERM] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { [weak self] in self?.arrived(number, onFirst) }
            source.resume()
            sources.withLock { $0.append(source) }
        }
    }

    /// Whether a signal has come.
    var hasCome: Bool { count.withLock { $0 > 0 } }

    private func arrived(_ number: Int32, _ onFirst: () -> Void) {
        let arrivals = count.withLock { count in
            count += 1
            return count
        }
        if arrivals > 1 { _exit(128 + number) }
        onFirst()
    }
}
