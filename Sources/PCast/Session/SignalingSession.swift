import Logging
import PCastCore
import PCastIO
import PCastSignaling
import PCastWeb
import Synchronization

/// Drives a ``SessionMachine`` over WebSockets, and brings its answers to whoever asked.
final class SignalingSession: Sendable {
    typealias Answer = @Sendable (Result<SignalingResponse, PCastError>) -> Void

    private struct State {
        var machine: SessionMachine
        /// Tells a run of `start` from those before it, whose connections may still be closing.
        var epoch = 0
        var task: Task<Void, Never>?
        var frames: AsyncStream<SignalingFrame>.Continuation?
        var lastTicket: SessionMachine.Ticket = 0
        var answers: [SessionMachine.Ticket: Answer] = [:]
        var started: (@Sendable (Result<SessionID, PCastError>) -> Void)?
        /// Who listens to this run alone: told of all runs, the next one's beginning would look like a second one of this.
        var teller: AsyncStream<PCastEvent>.Continuation?
        /// The streams of this session; as many as the application starts.
        var listeners: [StreamID: any StreamListener] = [:]
        /// Those that have ended, and whose end is still being told: `stop` waits for them too.
        var ending: [StreamID: any StreamListener] = [:]
        /// Where the session is, so that it is resumed nowhere else.
        var address: PlatformAddress?
        /// Setups under way, whose stream is listened to from the moment of the answer on.
        var expected: [SessionMachine.Ticket: any StreamListener] = [:]
    }

    let identity: ClientIdentity
    let events = Broadcast<PCastEvent>()
    let logger: Logger
    private let state: Mutex<State>

    init(identity: ClientIdentity, logger: Logger) {
        self.identity = identity
        self.logger = logger
        state = Mutex(State(machine: SessionMachine(identity: identity)))
    }

    var sessionID: SessionID? { state.withLock { $0.machine.sessionID } }

    var roundTripTime: TimeSpan? { state.withLock { $0.machine.roundTripTime } }

    // MARK: Starting and stopping

    /// Begins at once; a request made from now on goes out with the authentication. `started` is called once.
    ///
    /// - Parameters:
    ///   - previous: a session of before, to be gone on with; by itself the one that needs a new token is.
    ///   - teller: is told what happens until the next start, which finishes it.
    /// - Returns: why nothing began; then neither `started` nor `teller` is used.
    func start(
        at address: PlatformAddress, token: String, resuming previous: SessionID? = nil,
        telling teller: AsyncStream<PCastEvent>.Continuation? = nil,
        started: @escaping @Sendable (Result<SessionID, PCastError>) -> Void
    ) -> PCastError? {
        update { state in
            switch state.machine.phase {
            case .idle: break
            case .shutDown: return .shutDown
            case .starting, .online, .offline:
                return PCastError(.conflict, .usage, "this PCast is started already")
            }
            let former = state.address == address ? previous ?? state.machine.resumable : previous
            self.retire(&state)
            state.address = address
            state.machine.start(token: token, resuming: former)
            state.started = started
            state.teller = teller
            let epoch = state.epoch
            state.task = Task { await self.run(epoch: epoch, address: address) }
            return nil
        }
    }

    /// Replaces the machine of an earlier run, whose connection is closing.
    private func retire(_ state: inout State) {
        var generator = SystemRandomNumberGenerator()
        _ = state.machine.disconnected(.stopped, at: MonotonicClock.now(), using: &generator)
        state.task?.cancel()
        state.frames?.finish()
        state.frames = nil
        state.teller?.finish()
        state.teller = nil
        state.epoch += 1
        for answer in Array(state.answers.values) { Task { answer(.failure(.stopped)) } }
        state.answers = [:]
        state.expected = [:]
        state.machine = SessionMachine(identity: identity)
    }

    /// Ends all without waiting: nobody holds the session any more.
    func abandon() {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.sessionStopped() }
        update { state in
            // What is to be sent still goes out over an open connection; an attempt to make one ends.
            if state.frames == nil { state.task?.cancel() }
            state.machine.stop(forGood: true)
            state.listeners = [:]
        }
        finishEvents()
    }

    /// Ends the session's streams, says goodbye, and returns when the connection is closed. Harmless in any state.
    func stop(forGood: Bool) async {
        let (listeners, ending, isOnline) = state.withLock {
            (Array($0.listeners.values), Array($0.ending.values), $0.machine.phase == .online)
        }
        for listener in listeners { listener.sessionStopped() }
        for listener in listeners + ending { await listener.isOver() }
        if isOnline { await sayGoodbye() }
        let (task, late) = update { state in
            state.machine.stop(forGood: forGood)
            defer { state.listeners = [:] }
            return (state.task, Array(state.listeners.values))
        }
        // Those that were set up meanwhile; the others have ended, and know.
        for listener in late { listener.sessionStopped() }
        task?.cancel()
        await task?.value
        if forGood { finishEvents() }
    }

    private func finishEvents() {
        events.finish()
        state.withLock { $0.teller?.finish() }
    }

    /// Waits for the answer, but no longer than a person who presses Ctrl-C would.
    private func sayGoodbye() async {
        var message = PCastBye()
        message.sessionID = sessionID?.description ?? ""
        message.reason = "ended"
        let limit = Task { [weak self] in
            try await Task.sleep(for: .seconds(1))
            self?.update { $0.frames?.finish() }
        }
        _ = await perform(.bye(message))
        limit.cancel()
    }

    // MARK: Requests

    /// - Parameter listener: is told of the stream that the request sets up, from the answer on.
    func request(
        _ request: SignalingRequest, listener: (any StreamListener)? = nil, answer: @escaping Answer = { _ in }
    ) {
        update { state in
            state.lastTicket += 1
            state.answers[state.lastTicket] = answer
            if let listener { state.expected[state.lastTicket] = listener }
            state.machine.request(request, ticket: state.lastTicket, at: MonotonicClock.now())
        }
    }

    func perform(
        _ request: SignalingRequest, listener: (any StreamListener)? = nil
    ) async -> Result<SignalingResponse, PCastError> {
        await withCheckedContinuation { continuation in
            self.request(request, listener: listener) { continuation.resume(returning: $0) }
        }
    }

    /// Those that were set up, and those that are being so.
    var streams: [any StreamListener] {
        state.withLock { Array($0.listeners.values) + Array($0.expected.values) }
    }

    /// What the platform says of the stream is heard no more; its end is still waited for.
    func forget(_ stream: StreamID) {
        let listener = state.withLock { state in
            let listener = state.listeners.removeValue(forKey: stream)
            state.ending[stream] = listener
            return listener
        }
        guard let listener else { return }
        Task {
            await listener.isOver()
            _ = state.withLock { $0.ending.removeValue(forKey: stream) }
        }
    }

    // MARK: Driving the machine

    /// Changes the machine, and does what it says: frames in order under the lock, everything else after it.
    @discardableResult
    private func update<Value: Sendable>(_ change: (inout State) -> Value) -> Value {
        let (value, effects) = state.withLock { state in
            let value = change(&state)
            var effects: [@Sendable () -> Void] = []
            while let output = state.machine.poll() { self.follow(output, &state, &effects) }
            return (value, effects)
        }
        for effect in effects { effect() }
        return value
    }

    private func follow(
        _ output: SessionMachine.Output, _ state: inout State, _ effects: inout [@Sendable () -> Void]
    ) {
        switch output {
        case .send(let frame): state.frames?.yield(frame)
        case .closeConnection:
            state.frames?.finish()
            state.frames = nil
        case .event(let event):
            logger.info("session", metadata: ["event": "\(event)"])
            events.send(event)
            state.teller?.yield(event)
        case .started(let result):
            let started = state.started
            state.started = nil
            effects.append { started?(result) }
        case .answered(let ticket, let result):
            if let listener = state.expected.removeValue(forKey: ticket), case .success(let response) = result,
                let stream = response.createdStream
            {
                state.listeners[stream] = listener
            }
            if let answer = state.answers.removeValue(forKey: ticket) { effects.append { answer(result) } }
        case .interrupted:
            for listener in state.listeners.values { effects.append { listener.streamInterrupted() } }
        case .over:
            for listener in state.listeners.values {
                effects.append { listener.streamEnded(reason: StreamEndedReason.failed.rawValue) }
            }
            state.listeners = [:]
        case .platformEvent(let event):
            if let effect = tell(event, state) { effects.append(effect) }
        }
    }

    private func tell(_ event: SignalingEvent, _ state: borrowing State) -> (@Sendable () -> Void)? {
        switch event {
        case .streamEnded(let message):
            guard let listener = state.listeners[StreamID(message.streamID)] else { return nil }
            return { listener.streamEnded(reason: message.reason) }
        case .streamIdle(let message):
            guard let listener = state.listeners[StreamID(message.streamID)] else { return nil }
            return { listener.streamInterrupted() }
        case .streamDataQuality(let message):
            guard let listener = state.listeners[StreamID(message.streamID)] else { return nil }
            return { listener.dataQualityChanged(DataQuality(message)) }
        case .connectionDisconnected: return nil
        }
    }

    // MARK: Connections

    /// Connects, and again when the connection breaks, until the session is over.
    private func run(epoch: Int, address: PlatformAddress) async {
        while true {
            let (reason, isRefused) = await connect(to: address, epoch: epoch)
            guard let pause = disconnected(reason, isRefused: isRefused, epoch: epoch) else { return }
            logger.info(
                "no connection to the platform", metadata: ["reason": "\(reason)", "retry": "\(pause)"])
            do { try await Task.sleep(for: pause.duration) } catch { return }
        }
    }

    private func disconnected(_ reason: PCastError, isRefused: Bool, epoch: Int) -> TimeSpan? {
        update { state in
            guard state.epoch == epoch else { return nil }
            state.frames = nil
            var generator = SystemRandomNumberGenerator()
            return state.machine.disconnected(
                reason, isRefused: isRefused, at: MonotonicClock.now(), using: &generator)
        }
    }

    /// Connects and talks until the connection ends; answers why it did, and whether nothing listens there.
    private func connect(to address: PlatformAddress, epoch: Int) async -> (PCastError, isRefused: Bool) {
        do {
            try await WebSocketClient().connect(to: address.webSocket) { connection in
                guard let frames = self.opened(epoch: epoch) else { return }
                try await self.converse(over: connection, sending: frames, epoch: epoch)
            }
            return (PCastError(.failed, .connection, "the platform closed the connection: retry once"), false)
        } catch let error as WebError {
            return (PCastError(.failed, .connection, "\(error)"), error.isRefusedConnection)
        } catch {
            let words = "the connection to \(address.uri) broke (\(error)): retry once"
            return (PCastError(.failed, .connection, words), false)
        }
    }

    private func opened(epoch: Int) -> AsyncStream<SignalingFrame>? {
        let (frames, continuation) = AsyncStream.makeStream(of: SignalingFrame.self)
        return update { state in
            guard state.epoch == epoch else { return nil }
            state.frames = continuation
            state.machine.connected(at: MonotonicClock.now())
            return frames
        }
    }

    private func converse(
        over connection: WebSocketConnection, sending frames: AsyncStream<SignalingFrame>, epoch: Int
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await connection.forEachMessage { message in
                    self.received(SignalingFrame(message), epoch: epoch)
                }
            }
            group.addTask {
                for await frame in frames { try await connection.send(WebSocketMessage(frame)) }
                await connection.close()
            }
            group.addTask { try await self.keepTime(epoch: epoch) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func received(_ frame: SignalingFrame, epoch: Int) {
        update { state in
            if state.epoch == epoch { state.machine.received(frame, at: MonotonicClock.now()) }
        }
    }

    /// Lets time pass in the machine: when its deadline comes, and at least once a second, as a request that is made
    /// meanwhile may bring the deadline nearer.
    private func keepTime(epoch: Int) async throws {
        while true {
            let now = MonotonicClock.now()
            let deadline = state.withLock { $0.machine.deadline } ?? now + .seconds(1)
            let pause = max(.milliseconds(1), min(deadline - now, .seconds(1)))
            try await Task.sleep(for: pause.duration)
            update { state in
                if state.epoch == epoch { state.machine.advance(to: MonotonicClock.now()) }
            }
        }
    }
}
