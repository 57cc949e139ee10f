public import PCastCore
import PCastIO
import PCastRTP
import Synchronization

/// The lifecycle of a stream in the client. The stream ends once, whichever side ends it. Each listener is notified
/// exactly once, in the order in which they were added.
final class StreamLifecycle: StreamListener {
    /// An action that runs after the end.
    typealias EndedAction = @Sendable (StreamEndedInfo) -> Void
    /// Begins to notify the platform. The promise is resolved with whether the platform has confirmed.
    typealias EndNotifier = @Sendable (StreamEndedInfo) -> Promise<Bool>

    private struct State {
        var info: StreamEndedInfo?
        /// Whether all listeners were notified.
        var isOver = false
        var endNotifier: EndNotifier?
        var actions: [EndedAction] = []
        /// Begins to set up the stream again.
        var back: (@Sendable () -> Void)?
        var isReturning = false
        /// The number of times that the media connection was lost.
        var interruptions = 0
        /// Whether the connection that the platform reported as lost is the last one that was made.
        var isLost = false
        var quality: ConnectionQuality
        /// The last observation of the connection.
        var observation = ConnectionQuality.Observation(lastReceivedAt: nil, packetsSent: 0)
    }

    /// The cause of the end; nil until the stream has ended.
    let observableEndedInfo = ObservableValue<StreamEndedInfo?>(nil)
    /// The changes of the data quality.
    let qualities = EventBroadcaster<DataQuality>()
    /// The captions of a viewed stream.
    let captions = ReceivedCaptions()
    private let state: Mutex<State>

    /// Creates the lifecycle of a stream that has not ended.
    init(_ role: ConnectionQuality.Role) { state = Mutex(State(quality: ConnectionQuality(role))) }

    /// The cause of the end; nil until the stream has ended.
    var endedInfo: StreamEndedInfo? { state.withLock { $0.info } }

    /// The cause of the end; waits until the stream has ended and the actions that were added before have run.
    var ended: StreamEndedInfo {
        get async {
            await withCheckedContinuation { continuation in
                whenEnded { continuation.resume(returning: $0) }
            }
        }
    }

    /// Runs `action` once: when the stream ends, or at once if it has ended.
    func whenEnded(_ action: @escaping EndedAction) {
        let info = state.withLock { state in
            if !state.isOver { state.actions.append(action) }
            return state.isOver ? state.info : nil
        }
        if let info { action(info) }
    }

    /// Sets the function that notifies the platform of the end, whichever side ends the stream; it must not block.
    /// Other actions run after the platform has confirmed, so that the end of the media connection does not arrive
    /// before the reason.
    func setEndNotifier(_ endNotifier: @escaping EndNotifier) {
        let info = state.withLock { state in
            if state.info == nil { state.endNotifier = endNotifier }
            return state.info
        }
        if let info { _ = endNotifier(info) }
    }

    /// Ends the stream, if it has not ended yet. A separate task runs the actions, because the caller may be a thread
    /// that must not block, or one for which an action waits.
    func end(_ info: StreamEndedInfo) {
        let (isFirst, endNotifier) = state.withLock { state in
            let isFirst = state.info == nil
            if isFirst { state.info = info }
            defer { (state.endNotifier, state.back) = (nil, nil) }
            return (isFirst, state.endNotifier)
        }
        guard isFirst else { return }
        let confirmation = endNotifier?(info)
        observableEndedInfo.set(info)
        qualities.finish()
        captions.finish()
        Task {
            _ = await confirmation?.settled
            while let action = nextAction() { action(info) }
        }
    }

    /// Removes the next action and returns it; nil if there is none.
    private func nextAction() -> EndedAction? {
        state.withLock { state in
            state.isOver = state.actions.isEmpty
            return state.isOver ? nil : state.actions.removeFirst()
        }
    }

    /// Ends the stream by the platform's reason.
    func streamEnded(reason: String) { end(StreamEndedInfo(ender: .platform, wire: reason)) }

    /// Ends the stream because the session was stopped.
    func sessionStopped() {
        end(StreamEndedInfo(ender: .stop, reason: .pcastStop, reasonDescription: StreamEndedReason.pcastStop.rawValue))
    }

    /// Ends the stream because the application went to the background.
    func applicationWentToBackground() {
        let reason = StreamEndedReason.appBackground
        end(StreamEndedInfo(ender: .stop, reason: reason, reasonDescription: reason.rawValue))
    }

    /// Returns when the stream has ended.
    func isOver() async { _ = await ended }

    // MARK: Reconnection

    /// Sets the function that begins to set up the stream again; it must not block. It runs at once if the stream is
    /// interrupted.
    func setReturn(_ back: @escaping @Sendable () -> Void) {
        let isDue = state.withLock { state in
            if state.info == nil { state.back = back }
            return state.info == nil && state.isReturning
        }
        if isDue { back() }
    }

    /// Begins to set up the stream again, because the platform has lost its media connection.
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

    /// Records that the stream is set up again.
    func returned() { state.withLock { $0.isReturning = false } }

    /// Records that the media connection is made, or made again.
    func connected() { state.withLock { $0.isLost = false } }

    /// Whether the last media connection is the one that the platform reported as lost. It may be true while the stream
    /// is already set up again. Events of that connection are outdated.
    var isConnectionLost: Bool { state.withLock { $0.isLost } }

    /// Whether the stream is being set up again, in which case events of the media connection are outdated; and the
    /// number of times that it was lost.
    var interruption: (isUnderWay: Bool, count: Int) { state.withLock { ($0.isReturning, $0.interruptions) } }

    // MARK: Captions

    /// Processes captions of the platform.
    func captionsArrived(_ cues: [CaptionCue], timestamp: WallTime) {
        captions.add(cues, timestamp: timestamp, at: MonotonicClock.now())
    }

    // MARK: Data quality

    /// The present data quality.
    var dataQuality: DataQuality { state.withLock { $0.quality.quality } }

    /// Processes the data quality that the platform reports.
    func dataQualityChanged(_ quality: DataQuality) { follow { state in state.quality.setPlatformQuality(quality) } }

    /// Processes an observation of the connection to the platform.
    func observe(lastReceivedAt: Instant?, packetsSent: Int, at now: Instant) {
        follow { state in
            state.observation.lastReceivedAt = lastReceivedAt
            state.observation.packetsSent = packetsSent
            return state.quality.observe(state.observation, at: now)
        }
    }

    /// Records that nothing arrives from the platform for the moment, or that packets arrive again.
    func setAway(_ isAway: Bool, at now: Instant) {
        follow { state in
            state.observation.isAway = isAway
            return state.quality.observe(state.observation, at: now)
        }
    }

    /// Applies a change of the state and emits the data quality if it changed. Nothing is emitted after the end.
    private func follow(_ change: (inout State) -> DataQuality?) {
        let (updates, isOver) = state.withLock { state in (change(&state), state.info != nil) }
        if let updates, !isOver { qualities.send(updates) }
    }
}

extension StreamLifecycle {
    /// The time for which the platform's message with the reason is awaited. The media connection may be closed before
    /// the message arrives.
    private static let endReasonTimeout = Duration.seconds(1)

    /// Processes a change of the stream's media connection.
    func follow(_ event: MediaCall.Event) {
        switch event {
        case .connected:
            connected()
            setAway(false, at: MonotonicClock.now())
        case .keyFrameRequested, .paused, .resumed, .layerNeedsKeyFrame, .layerPaused, .layerResumed: break
        case .away: setAway(true, at: MonotonicClock.now())
        case .back: setAway(false, at: MonotonicClock.now())
        case .failed(let reason):
            guard !interruption.isUnderWay else { return }
            end(StreamEndedInfo(ender: .connection, reason: .failed, reasonDescription: reason))
        case .closed:
            // The platform's message that the connection is lost may have arrived first.
            guard !isConnectionLost else { return }
            let before = interruption.count
            Task {
                try? await Task.sleep(for: Self.endReasonTimeout)
                // The message may have requested a new setup.
                guard interruption == (false, before) else { return }
                end(StreamEndedInfo(ender: .platform, reason: .ended, reasonDescription: "ended"))
            }
        }
    }

    /// The interval between observations of the connection.
    private static let observationInterval = Duration.milliseconds(250)

    /// Observes the stream's media connection at intervals until the stream ends. `alongside` runs with each
    /// observation.
    func watch(_ call: MediaCall, _ alongside: @escaping @Sendable (MediaCall) -> Void = { _ in }) {
        let watching = Task { [weak self, weak call] in
            while (try? await Task.sleep(for: Self.observationInterval)) != nil {
                guard let self, let call else { return }
                alongside(call)
                guard let lifecycle = await call.linkActivity() else { continue }
                self.observe(
                    lastReceivedAt: lifecycle.lastReceivedAt, packetsSent: lifecycle.packetsSent,
                    at: MonotonicClock.now())
            }
        }
        whenEnded { _ in watching.cancel() }
    }
}

/// The cause of a stream's end (Phenix: `PhenixMediaStreamEndedInfo`, `PhenixPublisherEndedInfo`).
public struct StreamEndedInfo: Hashable, Sendable {
    /// The party that ended the stream.
    public enum EndingParty: String, Hashable, Sendable {
        /// The platform, or a peer behind it.
        case platform
        /// This program, with `stop`.
        case stop
        /// The source of a published stream, which has ended.
        case source
        /// The media connection, which failed.
        case connection
    }

    /// The party that ended the stream.
    public var ender: EndingParty
    /// The reason for the end.
    public var reason: StreamEndedReason
    /// The text that came with the reason. It is the whole reason if that is ``StreamEndedReason/custom``.
    public var reasonDescription: String

    /// Creates the cause of an end from its parts.
    public init(ender: EndingParty, reason: StreamEndedReason, reasonDescription: String) {
        self.ender = ender
        self.reason = reason
        self.reasonDescription = reasonDescription
    }

    /// Creates the cause of an end from the reason string of the protocol.
    init(ender: EndingParty, wire text: String) {
        self.init(ender: ender, reason: StreamEndedReason(wire: text), reasonDescription: text)
    }
}
