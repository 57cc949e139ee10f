import Logging
import PCastCore
import PCastIO
import PCastSignaling
import PCastWeb
import Synchronization

/// Drives a `SessionMachine` over WebSockets, and returns its results to the callers.
final class SignalingClient: Sendable {
    /// A function that receives the result of a request.
    typealias Completion = @Sendable (Result<SignalingResponse, PCastError>) -> Void

    private struct State {
        var machine: SessionMachine
        /// The number of the run of `start`. Connections of earlier runs may still be closing.
        var epoch = 0
        var task: Task<Void, Never>?
        var frames: AsyncStream<SignalingFrame>.Continuation?
        /// The first frames of a connection, while they are collected for the request that opens the WebSocket.
        var firstFrames: [SignalingFrame]?
        /// The frames that follow, until the WebSocket is open.
        var laterFrames: AsyncStream<SignalingFrame>?
        /// The number of calls that prepare a request.
        var preparations = 0
        /// The connection that waits for these requests; nil if there is none.
        var waiter: CheckedContinuation<Void, Never>?
        var lastTicket: SessionMachine.Ticket = 0
        var answers: [SessionMachine.Ticket: Completion] = [:]
        var started: (@Sendable (Result<SessionID, PCastError>) -> Void)?
        /// The listener of this run's events. A listener to all runs would receive the beginning of the next run as one
        /// of this run.
        var notifier: AsyncStream<PCastEvent>.Continuation?
        /// The streams of this session. The application bounds their number.
        var listeners: [StreamID: any StreamListener] = [:]
        /// The streams that have ended and whose end is still being reported. `stop` waits for them too.
        var ending: [StreamID: any StreamListener] = [:]
        /// The platform of the application, at which alone the session of the last start is resumed.
        var address: PlatformAddress?
        /// The listeners of setups in progress. They receive the stream's notifications from the response on.
        var expected: [SessionMachine.Ticket: any StreamListener] = [:]
        /// The rooms that are in use.
        var rooms: [WeakRoomListener] = []
    }

    let identity: ClientIdentity
    let events = EventBroadcaster<PCastEvent>()
    let logger: Logger
    private let state: Mutex<State>

    init(identity: ClientIdentity, logger: Logger) {
        self.identity = identity
        self.logger = logger
        state = Mutex(State(machine: SessionMachine(identity: identity)))
    }

    /// The ID of the session; nil without a session.
    var sessionID: SessionID? { state.withLock { $0.machine.sessionID } }

    /// The platform to which the client is or will be connected: that of the application, or a node to which it has
    /// redirected the client; nil before the start.
    var platform: PlatformAddress? { state.withLock { $0.machine.platform } }

    /// The round-trip time to the platform; nil before the first measurement.
    var roundTripTime: TimeSpan? { state.withLock { $0.machine.roundTripTime } }

    // MARK: Starting and stopping

    /// Begins a session at once. Later requests are sent together with the authentication.
    ///
    /// - Parameters:
    ///   - address: The platform.
    ///   - token: The authentication token.
    ///   - previous: An earlier session to resume; nil for the one that needs a new token, if there is one.
    ///   - notifier: A stream that receives the events until the next start finishes it.
    ///   - started: A function that is called once with the result of the first authentication.
    /// - Returns: The reason why nothing began, in which case neither `started` nor `notifier` is used; nil on success.
    func start(
        at address: PlatformAddress, token: String, resuming previous: SessionID? = nil,
        notifier: AsyncStream<PCastEvent>.Continuation? = nil,
        started: @escaping @Sendable (Result<SessionID, PCastError>) -> Void
    ) -> PCastError? {
        update { state in
            switch state.machine.phase {
            case .idle: break
            case .shutDown: return .shutDown
            case .starting, .online, .offline:
                return PCastError(.conflict, .usage, "this PCast is already started")
            }
            let former = state.address == address ? previous ?? state.machine.resumable : previous
            self.replaceMachine(&state)
            state.address = address
            state.machine.start(at: address, token: token, resuming: former)
            state.started = started
            state.notifier = notifier
            let epoch = state.epoch
            state.task = Task { await self.run(epoch: epoch) }
            return nil
        }
    }

    /// Replaces the machine of an earlier run, whose connection is closing.
    private func replaceMachine(_ state: inout State) {
        var generator = SystemRandomNumberGenerator()
        _ = state.machine.disconnected(.stopped, at: MonotonicClock.now(), using: &generator)
        state.task?.cancel()
        state.frames?.finish()
        state.frames = nil
        state.firstFrames = nil
        state.laterFrames = nil
        state.notifier?.finish()
        state.notifier = nil
        state.epoch += 1
        for answer in Array(state.answers.values) { Task { answer(.failure(.stopped)) } }
        state.answers = [:]
        state.expected = [:]
        state.machine = SessionMachine(identity: identity)
    }

    /// Ends the session without waiting, because nothing retains it any more.
    func abandon() {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.sessionStopped() }
        update { state in
            // Queued frames are still sent over an open connection. An attempt to connect is cancelled.
            if state.frames == nil { state.task?.cancel() }
            state.machine.stop(forGood: true)
            state.listeners = [:]
        }
        finishEvents()
    }

    /// Ends the session's streams, sends `Bye`, and returns when the connection is closed. May be called in any state.
    func stop(forGood: Bool) async {
        let (listeners, ending, isOnline) = state.withLock {
            (Array($0.listeners.values), Array($0.ending.values), $0.machine.phase == .online)
        }
        for listener in listeners { listener.sessionStopped() }
        for listener in listeners + ending { await listener.isOver() }
        if isOnline { await sendBye() }
        let (task, late) = update { state in
            state.machine.stop(forGood: forGood)
            defer { state.listeners = [:] }
            return (state.task, Array(state.listeners.values))
        }
        // These streams were set up meanwhile. The others have ended and were notified.
        for listener in late { listener.sessionStopped() }
        for room in rooms { room.sessionChanged(.ended) }
        task?.cancel()
        await task?.value
        if forGood { finishEvents() }
    }

    /// Ends the streams of events.
    private func finishEvents() {
        events.finish()
        state.withLock { $0.notifier?.finish() }
    }

    /// Sends `Bye` and waits for the response, but at most one second, because a person may have pressed Ctrl-C.
    private func sendBye() async {
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

    /// Runs `body`, which prepares a request in about a millisecond. If a connection is established meanwhile, the
    /// request that opens its WebSocket waits for it. Unless `body` throws, ``perform(_:listener:isPrepared:)`` follows.
    func preparing<Value>(_ body: () throws(PCastError) -> Value) throws(PCastError) -> Value {
        state.withLock { $0.preparations += 1 }
        do throws(PCastError) {
            return try body()
        } catch {
            endPreparation()
            throw error
        }
    }

    /// Notes that an announced request was made, or that it failed before.
    private func endPreparation() {
        let waiter = state.withLock { state in
            state.preparations -= 1
            return state.preparations == 0 ? state.waiter.take() : nil
        }
        waiter?.resume()
    }

    /// The maximum time that a connection waits for announced requests.
    private static let preparationLimit = Duration.milliseconds(20)

    /// Waits for announced requests within the limit.
    private func awaitPreparations() async {
        guard state.withLock({ $0.preparations > 0 }) else { return }
        let limit = Task { [weak self] in
            try await Task.sleep(for: Self.preparationLimit)
            self?.state.withLock { $0.waiter.take() }?.resume()
        }
        await withCheckedContinuation { continuation in
            let others = state.withLock { state in
                // The wait of an earlier connection, which another start has replaced, ends.
                let former = state.waiter.take()
                guard state.preparations > 0 else { return [former, continuation] }
                state.waiter = continuation
                return [former]
            }
            for other in others { other?.resume() }
        }
        limit.cancel()
    }

    /// Sends a request, whose result `answer` receives. `listener` receives the notifications of the stream that the
    /// request sets up.
    func request(
        _ request: SignalingRequest, listener: (any StreamListener)? = nil, answer: @escaping Completion = { _ in }
    ) {
        update { state in
            state.lastTicket += 1
            state.answers[state.lastTicket] = answer
            if let listener { state.expected[state.lastTicket] = listener }
            state.machine.request(request, ticket: state.lastTicket, at: MonotonicClock.now())
        }
    }

    /// Sends a request and returns its result. `listener` receives the notifications of the stream that the request
    /// sets up. `isPrepared` is whether the request was announced.
    func perform(
        _ request: SignalingRequest, listener: (any StreamListener)? = nil, isPrepared: Bool = false
    ) async -> Result<SignalingResponse, PCastError> {
        await withCheckedContinuation { continuation in
            self.request(request, listener: listener) { continuation.resume(returning: $0) }
            if isPrepared { endPreparation() }
        }
    }

    /// The listeners of the streams that were set up or are being set up.
    var streams: [any StreamListener] {
        state.withLock { Array($0.listeners.values) + Array($0.expected.values) }
    }

    /// Sends the notifications of rooms to `room` from now on, while it exists.
    func add(_ room: any RoomListener) {
        state.withLock { state in
            state.rooms.removeAll { $0.listener == nil || $0.listener === room }
            state.rooms.append(WeakRoomListener(listener: room))
        }
    }

    private var rooms: [any RoomListener] { state.withLock { $0.rooms.compactMap(\.listener) } }

    /// Ends the notifications of a stream that was set up again under another ID.
    func forget(_ stream: StreamID) { _ = state.withLock { $0.listeners.removeValue(forKey: stream) } }

    /// Ends the notifications of a stream. `stop` still waits for the stream's end.
    func discard(_ stream: StreamID) {
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

    // MARK: State machine

    /// Changes the machine and performs its outputs: frames are queued in order under the lock, and other actions
    /// follow after it.
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

    /// Performs an output under the lock, or adds an action to `effects`.
    private func follow(
        _ output: SessionMachine.Output, _ state: inout State, _ effects: inout [@Sendable () -> Void]
    ) {
        switch output {
        case .send(let frame):
            if state.firstFrames == nil { state.frames?.yield(frame) } else { state.firstFrames?.append(frame) }
        case .closeConnection:
            state.frames?.finish()
            state.frames = nil
        case .event(let event):
            logger.info("session event", metadata: ["event": "\(event)"])
            events.send(event)
            state.notifier?.yield(event)
            let rooms = state.rooms.compactMap(\.listener)
            if !rooms.isEmpty, let change = RoomSessionChange(event) {
                effects.append { for room in rooms { room.sessionChanged(change) } }
            }
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
            if let effect = notify(event, state) { effects.append(effect) }
        }
    }

    /// Returns the action that forwards a notification to its stream; nil if there is none.
    private func notify(_ event: SignalingEvent, _ state: borrowing State) -> (@Sendable () -> Void)? {
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
        case .streamCaptions(let message):
            guard let listener = state.listeners[StreamID(message.streamID)],
                let timestamp = WallTime(wire: message.timestamp)
            else { return nil }
            let cues = message.cues.prefix(CaptionGate.capacity).compactMap { CaptionCue($0) }
                .filter { $0.problem == nil }
            return { listener.captionsArrived(cues, timestamp: timestamp) }
        case .room(let message):
            let rooms = state.rooms.compactMap(\.listener)
            return { for room in rooms { room.roomChanged(message) } }
        case .roomConversation(let message):
            let rooms = state.rooms.compactMap(\.listener)
            return { for room in rooms { room.messagesArrived(message) } }
        case .connectionDisconnected: return nil
        }
    }

    // MARK: Connections

    /// Connects, and reconnects after each loss, until the session has ended.
    private func run(epoch: Int) async {
        while true {
            guard let address = state.withLock({ $0.epoch == epoch ? $0.machine.platform : nil }) else { return }
            let (reason, isRefused) = await connect(to: address, epoch: epoch)
            guard let pause = disconnected(reason, isRefused: isRefused, epoch: epoch) else { return }
            logger.info(
                "disconnected from the platform",
                metadata: ["platform": "\(address.uri)", "reason": "\(reason)", "retry": "\(pause)"])
            do { try await Task.sleep(for: pause.duration) } catch { return }
        }
    }

    /// Processes the end of a connection. Returns the delay before the next attempt; nil if there is none.
    private func disconnected(_ reason: PCastError, isRefused: Bool, epoch: Int) -> TimeSpan? {
        update { state in
            guard state.epoch == epoch else { return nil }
            state.frames = nil
            state.laterFrames = nil
            var generator = SystemRandomNumberGenerator()
            return state.machine.disconnected(
                reason, isRefused: isRefused, at: MonotonicClock.now(), using: &generator)
        }
    }

    /// Connects and communicates until the connection ends. Returns the reason, and whether the connection was refused
    /// because nothing listens.
    private func connect(to address: PlatformAddress, epoch: Int) async -> (PCastError, isRefused: Bool) {
        do {
            try await WebSocketClient().connect(to: address.webSocket) {
                await self.begin(epoch: epoch)
            } _: { connection in
                guard let frames = self.opened(epoch: epoch) else { return }
                try await self.exchangeFrames(over: connection, sending: frames, epoch: epoch)
            }
            return (PCastError(.failed, .connection, "the platform closed the connection: retry once"), false)
        } catch let error as WebError {
            return (PCastError(.failed, .connection, "\(error)"), error.isRefusedConnection)
        } catch {
            let words = "the connection to \(address.uri) was lost (\(error)): retry once"
            return (PCastError(.failed, .connection, words), false)
        }
    }

    /// Begins to use an established connection. Returns the messages for the request that opens the WebSocket, which
    /// thus carries the authentication and the requests that wait; none for an earlier run.
    private func begin(epoch: Int) async -> [String] {
        await awaitPreparations()
        let (frames, continuation) = AsyncStream.makeStream(of: SignalingFrame.self)
        update { state in
            guard state.epoch == epoch else { return }
            state.frames = continuation
            state.laterFrames = frames
            state.firstFrames = []
            state.machine.connected(at: MonotonicClock.now(), isOpen: false)
        }
        return state.withLock { state in
            guard state.epoch == epoch else { return [] }
            defer { state.firstFrames = nil }
            return (state.firstFrames ?? []).compactMap { if case .text(let text) = $0 { text } else { nil } }
        }
    }

    /// Begins to use an open WebSocket. Returns the frames to send; nil for an earlier run.
    private func opened(epoch: Int) -> AsyncStream<SignalingFrame>? {
        update { state in
            guard state.epoch == epoch else { return nil }
            state.machine.opened()
            return state.laterFrames.take()
        }
    }

    /// Receives and sends frames until one side closes the connection. Throws an error if the connection fails.
    private func exchangeFrames(
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
            group.addTask { try await self.advanceAtDeadlines(epoch: epoch) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Processes a received frame, unless it is of an earlier run.
    private func received(_ frame: SignalingFrame, epoch: Int) {
        update { state in
            if state.epoch == epoch { state.machine.received(frame, at: MonotonicClock.now()) }
        }
    }

    /// Advances the machine at its deadline, and at least once per second, because a request may make the deadline
    /// earlier. Throws an error when it is cancelled.
    private func advanceAtDeadlines(epoch: Int) async throws {
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

/// Receives the platform's notifications of one stream.
protocol StreamListener: AnyObject, Sendable {
    /// The platform ended the stream, with the reason string of the protocol.
    func streamEnded(reason: String)
    /// The stream's media connection is lost, and the stream has to be set up again.
    func streamInterrupted()
    /// The platform reports another data quality.
    func dataQualityChanged(_ quality: DataQuality)
    /// The platform sends captions of a viewed stream. `timestamp` is the time by the platform's clock at which it sent
    /// them.
    func captionsArrived(_ cues: [CaptionCue], timestamp: WallTime)
    /// The application stops the session of the stream.
    func sessionStopped()
    /// The application goes to the background.
    func applicationWentToBackground()
    /// Returns when all of the stream has ended: its connection is closed, and its files are written.
    func isOver() async
}

/// Receives the platform's notifications of rooms, in their order.
protocol RoomListener: AnyObject, Sendable {
    /// A room or its members have changed. It may be another room.
    func roomChanged(_ event: ChatRoomEvent)
    /// Messages of a conversation arrived. It may be that of another room.
    func messagesArrived(_ event: ChatRoomConversationEvent)
    /// The session has changed, in which the client is a member.
    func sessionChanged(_ change: RoomSessionChange)
}

/// A change of the session that concerns rooms.
enum RoomSessionChange: Hashable, Sendable {
    /// The client is connected, so it enters its rooms again.
    case online
    /// The connection is lost.
    case offline
    /// The session has ended, and with it all memberships.
    case ended

    /// Returns nil for an event without meaning for rooms.
    init?(_ event: PCastEvent) {
        switch event {
        case .online: self = .online
        case .offline: self = .offline
        case .authenticated(.ok, _): return nil
        case .authenticated: self = .ended
        }
    }
}

/// A room that is notified while it exists.
struct WeakRoomListener {
    weak var listener: (any RoomListener)?
}
