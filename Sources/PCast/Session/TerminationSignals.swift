import Dispatch
import Glibc
import Synchronization

/// SIGINT and SIGTERM, for those who asked that they be handled: the first signal lets each of them end what it has,
/// within a bounded time; then whatever was to be done about the signal before is done, which is the end of the process
/// unless the program has a handler of its own. The handlers are there for as long as somebody asks.
final class TerminationSignals: Sendable {
    static let shared = TerminationSignals()

    /// Ends what somebody has.
    typealias Ending = @Sendable () async -> Void

    private struct Installation {
        /// What was to be done about the signal before.
        var earlier: [Int32: sigaction]
        let source: any DispatchSourceRead
    }

    private struct State {
        var endings: [Int: Ending] = [:]
        var lastID = 0
        var installation: Installation?
        var isEnding = false
        /// Who may not go on before the signal has.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private static let signals = [SIGINT, SIGTERM]

    /// A person who presses Ctrl-C waits no longer.
    private static let timeout = Duration.seconds(3)

    /// The writing end of the pipe by which the handler tells; a handler may do little more than write (POSIX,
    /// "async-signal-safe").
    private static let pipeEnd = Atomic<Int32>(-1)

    private let queue = DispatchQueue(label: "pcast-signals")
    private let state = Mutex(State())

    private init() {}

    /// Handles the signals for as long as the answer is held.
    func handle(_ ending: @escaping Ending) -> Disposable {
        let id = state.withLock { state in
            state.lastID += 1
            state.endings[state.lastID] = ending
            if state.installation == nil { state.installation = install() }
            return state.lastID
        }
        return Disposable { [self] in
            state.withLock { state in
                state.endings[id] = nil
                if state.endings.isEmpty, !state.isEnding { uninstall(&state) }
            }
        }
    }

    /// Returns at once where no signal is being handled; else when that is done, which a process without a handler of its
    /// own does not live to see. A program that ends because its streams do would otherwise be gone before, with a status
    /// that tells nothing of the signal.
    func settled() async {
        await withCheckedContinuation { continuation in
            let isSettled = state.withLock { state in
                if state.isEnding { state.waiting.append(continuation) }
                return !state.isEnding
            }
            if isSettled { continuation.resume() }
        }
    }

    // MARK: Handlers

    private func install() -> Installation? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        Self.pipeEnd.store(ends[1], ordering: .releasing)
        let source = DispatchSource.makeReadSource(fileDescriptor: ends[0], queue: queue)
        source.setEventHandler { [unowned self] in
            var number: UInt8 = 0
            while read(ends[0], &number, 1) == 1 { arrived(Int32(number)) }
        }
        source.setCancelHandler {
            close(ends[0])
            close(ends[1])
        }
        source.resume()
        var earlier: [Int32: sigaction] = [:]
        for number in Self.signals {
            var old = sigaction()
            // Who ignores a signal, as under nohup, goes on doing so.
            guard sigaction(number, nil, &old) == 0, !old.ignores else { continue }
            var new = sigaction()
            new.__sigaction_handler.sa_handler = { number in
                let (kept, end) = (errno, TerminationSignals.pipeEnd.load(ordering: .acquiring))
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(end, &byte, 1)
                errno = kept
            }
            new.sa_flags = SA_RESTART
            if sigaction(number, &new, nil) == 0 { earlier[number] = old }
        }
        return Installation(earlier: earlier, source: source)
    }

    private func uninstall(_ state: inout State) {
        guard var installation = state.installation else { return }
        state.installation = nil
        for number in Array(installation.earlier.keys) { sigaction(number, &installation.earlier[number]!, nil) }
        Self.pipeEnd.store(-1, ordering: .releasing)
        installation.source.cancel()
    }

    // MARK: A signal

    private func arrived(_ number: Int32) {
        let endings: [Ending]? = state.withLock { state in
            guard !state.isEnding else { return nil }
            state.isEnding = true
            return Array(state.endings.values)
        }
        guard let endings else { return goOn(number) }
        Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await withTaskGroup(of: Void.self) { group in
                        for ending in endings { group.addTask { await ending() } }
                    }
                }
                group.addTask { try? await Task.sleep(for: Self.timeout) }
                await group.next()
                self.goOn(number)
                group.cancelAll()
            }
        }
    }

    /// Has done with the signal what would have been done without us.
    private func goOn(_ number: Int32) {
        let waiting: [CheckedContinuation<Void, Never>]? = state.withLock { state in
            guard state.isEnding else { return nil }
            uninstall(&state)
            state.isEnding = false
            defer { state.waiting = [] }
            return state.waiting
        }
        guard let waiting else { return }
        kill(getpid(), number)
        for continuation in waiting { continuation.resume() }
    }
}

extension sigaction {
    fileprivate var ignores: Bool {
        unsafeBitCast(__sigaction_handler.sa_handler, to: Int.self) == 1  // SIG_IGN, which Swift does not compare.
    }
}
