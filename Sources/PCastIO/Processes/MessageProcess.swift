import Glibc
package import PCastCore

/// A program that receives messages from its standard input, a ``MessageSocket``, and sends others over it. It processes
/// data of untrusted clients, so it may connect nowhere if the kernel can enforce this (``ConnectionLimits``).
///
/// It is started again when it ends or does not read its messages for some time. It ends when ``close()`` is called, and also when this
/// process ends.
package final class MessageProcess: Sendable {
    private struct State {
        /// Nil while the program does not run.
        var socket: MessageSocket?
        var process: SpawnedProcess?
        var startCount = 0
        var isClosed = false
        /// Whether the connection to the program has ended.
        var hasEnded = false
        /// The time since which there has been no space for messages; nil if there was space for the last one.
        var fullSince: Instant?
    }

    private let program: String
    private let arguments: [String]
    private let environment: [String: String]
    private let restartInterval: TimeSpan
    private let stallTime: TimeSpan
    private let onStart: @Sendable () -> [[UInt8]]
    private let onMessage: @Sendable ([UInt8]) -> Void
    private let state = Monitor(State())

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - arguments: The arguments of the program.
    ///   - environment: The environment of the program.
    ///   - restartInterval: The minimum time between two starts.
    ///   - stallTime: The time without space for messages after which the program is killed.
    ///   - onStart: Called on a separate thread at each start. It returns the messages that the program receives first,
    ///     and does not send any.
    ///   - onMessage: Called with each message of the program, on a thread that reads the messages of all programs. It
    ///     returns without blocking.
    /// - Throws: ``IOError/system(call:errno:)`` if no thread can be created. A program that cannot be started is tried
    ///   again.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String],
        restartInterval: TimeSpan = .seconds(5), stallTime: TimeSpan = .seconds(5),
        onStart: @escaping @Sendable () -> [[UInt8]], onMessage: @escaping @Sendable ([UInt8]) -> Void
    ) throws(IOError) {
        (self.program, self.arguments, self.environment) = (program, arguments, environment)
        (self.restartInterval, self.stallTime) = (restartInterval, stallTime)
        (self.onStart, self.onMessage) = (onStart, onMessage)
        _ = try WorkerThread(name: "message-program") { [self] in run() }
    }

    /// The number of starts so far.
    package var startCount: Int { state.withLock { state, _ in state.startCount } }

    /// Sends a message without blocking.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - isRequired: Whether the program is killed, and thus started again, if there is no space for the message. Otherwise
    ///     the message is dropped, and the program is killed if there has been no space for `stallTime`.
    /// - Returns: Whether the message was sent. It was dropped if the program does not run, or reads more slowly than
    ///   messages are sent.
    @discardableResult
    package func send(_ message: [UInt8], isRequired: Bool = true) -> Bool {
        state.withLock { state, _ in
            guard let socket = state.socket else { return false }
            switch socket.send(message, waits: false) {
            case .sent:
                state.fullSince = nil
                return true
            case .full:
                // A message that is too large says nothing about the program.
                guard message.count <= MessageSocket.maximumSize else { return false }
                let now = MonotonicClock.now()
                let since = state.fullSince ?? now
                state.fullSince = since
                if isRequired || now - since >= stallTime { state.process?.send(SIGKILL) }
                return false
            case .ended: return false
            }
        }
    }

    /// Kills the program. Further calls have no effect.
    package func close() {
        state.withLock { state, condition in
            state.isClosed = true
            state.process?.send(SIGKILL)
            condition.wakeAll()
        }
    }

    private func run() {
        while true {
            let began = MonotonicClock.now()
            if let (socket, process) = try? start() {
                serve(socket, process)
                process.send(SIGKILL)
                _ = process.wait()
            }
            let next = began + restartInterval
            let isClosed = state.wait(until: next) { $0.isClosed ? true : nil } ?? false
            if isClosed { return }
        }
    }

    /// Passes on the messages of a program until it ends.
    private func serve(_ socket: MessageSocket, _ process: SpawnedProcess) {
        let isOpen = state.withLock { state, _ in
            // Messages that are sent after `onStart` was called follow the first ones, and are not lost.
            guard !state.isClosed, onStart().allSatisfy({ socket.send($0, waits: false) == .sent }) else {
                return false
            }
            (state.socket, state.process, state.hasEnded, state.fullSince) = (socket, process, false, nil)
            state.startCount += 1
            return true
        }
        guard isOpen else { return }
        let isRead: Void? = try? MessageReader.shared().read(socket, onMessage: onMessage) { [self] in
            state.withLock { state, condition in
                state.hasEnded = true
                condition.wakeAll()
            }
        }
        if isRead != nil { _ = state.wait(until: nil) { $0.hasEnded ? true : nil } }
        state.withLock { state, _ in (state.socket, state.process) = (nil, nil) }
    }

    /// Starts the program. Its end of the socket is closed in this process when the function returns.
    private func start() throws(IOError) -> (MessageSocket, SpawnedProcess) {
        let (ours, theirs) = try MessageSocket.pair()
        let messages = try Descriptor.null()
        let spawn: @Sendable () throws(IOError) -> SpawnedProcess = { [self] () throws(IOError) in
            try SpawnedProcess(
                program, arguments, environment: environment, isApart: true, input: theirs, output: theirs,
                messages: messages)
        }
        let process = try ConnectionLimits.hasPortRules ? ConnectionLimits.run(ports: [], spawn) : spawn()
        return (ours, process)
    }
}
