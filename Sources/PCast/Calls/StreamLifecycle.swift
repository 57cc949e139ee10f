import PCastCore
import PCastRTP
import Synchronization

/// A stream's life on this side of the platform: it ends once, whoever ends it, and everyone who wants to know is told
/// exactly once, in the order in which they asked.
final class StreamLifecycle: StreamListener {
    typealias EndedAction = @Sendable (StreamEndedInfo) -> Void
    /// Begins to tell the platform, and answers what is settled when it knows, or will not.
    typealias Farewell = @Sendable (StreamEndedInfo) -> Promise<Bool>

    private struct State {
        var info: StreamEndedInfo?
        /// All who had asked were told.
        var isOver = false
        var farewell: Farewell?
        var actions: [EndedAction] = []
        /// Begins to set the stream up again.
        var back: (@Sendable () -> Void)?
        var isReturning = false
        /// How often its media connection was lost.
        var interruptions = 0
        /// The connection that the platform said to be lost is the last that there was.
        var isLost = false
        var quality: ConnectionQuality
        /// What was seen of the connection last.
        var look = ConnectionQuality.Observation(lastHeard: nil, packetsSent: 0)
    }

    /// Nil until the stream has ended.
    let observableEndedInfo = ObservableValue<StreamEndedInfo?>(nil)
    /// Each change of the data quality.
    let qualities = Broadcast<DataQuality>()
    private let state: Mutex<State>

    init(_ role: ConnectionQuality.Role) { state = Mutex(State(quality: ConnectionQuality(role))) }

    var endedInfo: StreamEndedInfo? { state.withLock { $0.info } }

    /// Returns when the stream has ended, and what was to be done then is done.
    var ended: StreamEndedInfo {
        get async {
            await withCheckedContinuation { continuation in
                whenEnded { continuation.resume(returning: $0) }
            }
        }
    }

    /// Runs `action` once: when the stream ends, or now if it has ended.
    func whenEnded(_ action: @escaping EndedAction) {
        let info = state.withLock { state in
            if !state.isOver { state.actions.append(action) }
            return state.isOver ? state.info : nil
        }
        if let info { action(info) }
    }

    /// What is told the platform, before anything else and by whoever ends the stream; it must not block. All else is
    /// done when the platform knows: the end of the media connection must not outrun the reason for it.
    func setFarewell(_ farewell: @escaping Farewell) {
        let info = state.withLock { state in
            if state.info == nil { state.farewell = farewell }
            return state.info
        }
        if let info { _ = farewell(info) }
    }

    /// The first end is the one that counts. What is done about it is done by a task of its own, as the caller may be a
    /// thread that has to go on, or one of those that are waited for.
    func end(_ info: StreamEndedInfo) {
        let (isFirst, farewell) = state.withLock { state in
            let isFirst = state.info == nil
            if isFirst { state.info = info }
            defer { (state.farewell, state.back) = (nil, nil) }
            return (isFirst, state.farewell)
        }
        guard isFirst else { return }
        let said = farewell?(info)
        observableEndedInfo.set(info)
        qualities.finish()
        Task {
            _ = await said?.settled
            while let action = nextAction() { action(info) }
        }
    }

    private func nextAction() -> EndedAction? {
        state.withLock { state in
            state.isOver = state.actions.isEmpty
            return state.isOver ? nil : state.actions.removeFirst()
        }
    }

    func streamEnded(reason: String) { end(StreamEndedInfo(ender: .platform, wire: reason)) }

    func sessionStopped() {
        end(StreamEndedInfo(ender: .stop, reason: .pcastStop, reasonDescription: StreamEndedReason.pcastStop.rawValue))
    }

    func applicationWentToBackground() {
        let reason = StreamEndedReason.appBackground
        end(StreamEndedInfo(ender: .stop, reason: reason, reasonDescription: reason.rawValue))
    }

    func isOver() async { _ = await ended }

    // MARK: Coming back

    /// - Parameter back: begins to set the stream up again; it must not block.
    func setReturn(_ back: @escaping @Sendable () -> Void) {
        let isDue = state.withLock { state in
            if state.info == nil { state.back = back }
            return state.info == nil && state.isReturning
        }
        if isDue { back() }
    }

    func streamInterrupted() {
        let back = state.withLock { state in
            guard state.info == nil else { return nil as (@Sendable () -> Void)? }
            state.isReturning = true
            state.isLost = true
            state.interruptions += 1
            return state.back
        }
        back?()
    }

    /// The stream is set up again.
    func returned() { state.withLock { $0.isReturning = false } }

    /// A media connection is there, or is there again.
    func connected() { state.withLock { $0.isLost = false } }

    /// Whether the last media connection is the one that the platform said to be lost, also where the stream is set up
    /// again already: what becomes of that one is no news.
    var isConnectionLost: Bool { state.withLock { $0.isLost } }

    /// Whether what is told of the media connection is of one that is lost anyway; and how often one was.
    var interruption: (isUnderWay: Bool, count: Int) { state.withLock { ($0.isReturning, $0.interruptions) } }

    // MARK: Data quality

    var dataQuality: DataQuality { state.withLock { $0.quality.quality } }

    func dataQualityChanged(_ quality: DataQuality) { follow { state in state.quality.told(quality) } }

    /// What is seen of the connection to the platform.
    func observe(lastHeard: Instant?, packetsSent: Int, at now: Instant) {
        follow { state in
            state.look.lastHeard = lastHeard
            state.look.packetsSent = packetsSent
            return state.quality.observe(state.look, at: now)
        }
    }

    /// Nothing arrives from the platform any more, for the moment, or it does again.
    func setAway(_ isAway: Bool, at now: Instant) {
        follow { state in
            state.look.isAway = isAway
            return state.quality.observe(state.look, at: now)
        }
    }

    private func follow(_ change: (inout State) -> DataQuality?) {
        let (news, isOver) = state.withLock { state in (change(&state), state.info != nil) }
        if let news, !isOver { qualities.send(news) }
    }
}
