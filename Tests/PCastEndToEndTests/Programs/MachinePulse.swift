import Foundation
import Synchronization

/// The longest time for which the machine stood still, as a virtual machine does when its host is busy.
///
/// For each processor, a bound thread with the highest real-time priority wants to run every ten milliseconds. It runs
/// in time if the processor runs at all.
final class MachinePulse: Sendable {
    private struct State {
        var isOver = false
        var worst = Duration.zero
        /// Whether threads could not get priority. A delay of the machine cannot be distinguished from the product's
        /// then.
        var isBlind = false
    }

    /// The period in milliseconds.
    private static let period: Int32 = 10
    private let state = Mutex(State())

    init() {
        for processor in 0..<ProcessInfo.processInfo.activeProcessorCount {
            Thread { [weak self] in
                guard Self.goBefore(others: processor) else {
                    self?.state.withLock { $0.isBlind = true }
                    return
                }
                var beginning = ContinuousClock.now
                while let self, self.beat(since: beginning) {
                    beginning = .now
                    // The call waits for nothing. Its excess duration is measured.
                    _ = poll(nil, 0, Self.period)
                }
            }.start()
        }
    }

    deinit { stop() }

    func stop() { state.withLock { $0.isOver = true } }

    /// The longest time so far for which a processor did not run; zero if it is unknown.
    var longestStandstill: Duration { state.withLock { $0.isBlind ? .zero : $0.worst } }

    private func beat(since beginning: ContinuousClock.Instant) -> Bool {
        let late = beginning.duration(to: .now) - .milliseconds(Self.period)
        return state.withLock { state in
            state.worst = max(state.worst, late)
            return !state.isOver
        }
    }

    /// The function sched_setaffinity(2), which Swift's Glibc module omits.
    private typealias SetAffinity = @convention(c) (pid_t, Int, UnsafeRawPointer) -> Int32

    /// Binds the calling thread to a processor, and gives it precedence there.
    private static func goBefore(others processor: Int) -> Bool {
        guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "sched_setaffinity"), processor < 1_024 else { return false }
        let setAffinity = unsafeBitCast(symbol, to: SetAffinity.self)
        var processors = [UInt8](repeating: 0, count: 128)
        processors[processor / 8] = 1 << (processor % 8)
        var order = sched_param(sched_priority: sched_get_priority_max(SCHED_FIFO))
        // 0 is the calling thread.
        return setAffinity(0, processors.count, processors) == 0 && sched_setscheduler(0, SCHED_FIFO, &order) == 0
    }
}
