import Dispatch
import Glibc
import Synchronization

/// Handles SIGINT and SIGTERM for all clients that have requested it.
///
/// The first signal runs the clients' actions, within a time limit. Then the former disposition of the signal is
/// restored and applied, which ends the process unless the program has its own handler. The handlers are installed
/// while there are clients.
final class TerminationSignals: Sendable {
    static let shared = TerminationSignals()

    /// An action that ends a client's streams.
    typealias EndHandler = @Sendable () async -> Void

    private struct Installation {
        /// The former dispositions by signal.
        var earlier: [Int32: sigaction]
        let source: any DispatchSourceRead
    }

    private struct State {
        var endings: [Int: EndHandler] = [:]
        var lastID = 0
        var installation: Installation?
        var isEnding = false
        /// The callers that wait until the signal is handled.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private static let signals = [SIGINT, SIGTERM]

    /// The time limit of the actions, because a person who presses Ctrl-C does not wait longer.
    private static let timeout = Duration.seconds(3)

    /// The write end of the pipe to which the signal handler writes. A handler may call only async-signal-safe
    /// functions (POSIX, signal-safety(7)), and `write` is one.
    private static let pipeEnd = Atomic<Int32>(-1)

    private let queue = DispatchQueue(label: "pcast-signals")
    private let state = Mutex(State())

    private init() {}

    /// Handles the signals while the returned object exists.
    func handle(_ ending: @escaping EndHandler) -> Disposable {
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

    /// Returns when no signal is being handled. Otherwise a program that ends because its streams have ended could exit
    /// before the signal is applied, with a status that does not show the signal.
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

    /// Installs the handlers. Returns nil if that fails.
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
            // An ignored signal, e.g. under nohup, stays ignored.
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

    /// Restores the former dispositions.
    private func uninstall(_ state: inout State) {
        guard var installation = state.installation else { return }
        state.installation = nil
        for number in Array(installation.earlier.keys) { sigaction(number, &installation.earlier[number]!, nil) }
        Self.pipeEnd.store(-1, ordering: .releasing)
        installation.source.cancel()
    }

    // MARK: Signals

    /// Runs the actions for the first signal. A second signal is applied at once.
    private func arrived(_ number: Int32) {
        let endings: [EndHandler]? = state.withLock { state in
            guard !state.isEnding else { return nil }
            state.isEnding = true
            return Array(state.endings.values)
        }
        guard let endings else { return applySignal(number) }
        Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await withTaskGroup(of: Void.self) { group in
                        for ending in endings { group.addTask { await ending() } }
                    }
                }
                group.addTask { try? await Task.sleep(for: Self.timeout) }
                await group.next()
                self.applySignal(number)
                group.cancelAll()
            }
        }
    }

    /// Applies the signal as without the SDK.
    private func applySignal(_ number: Int32) {
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
    /// Whether the disposition is to ignore the signal.
    fileprivate var ignores: Bool {
        unsafeBitCast(__sigaction_handler.sa_handler, to: Int.self) == 1  // SIG_IGN, which Swift does not compare.
    }
}
