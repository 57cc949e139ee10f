import PCastCore
import Synchronization

@testable import PCastPlayback

/// Checks events by the rules that always hold.
final class EventOrderChecker: PlaybackSessionConsumer, PlayerObserver {
    private struct Life {
        var session: PlaybackSession.ID
        var progress: PlaybackProgress?
        var isReady = false
        var isTerminated = false
        var isOpen = false
        var isAtEnd = false
        var isBuffering = true
    }

    private struct State {
        var life: Life?
        var known: Set<PlaybackSession.ID> = []
        var epoch = PlayheadEpoch()
        var reportedState = PlayerState.idle
        var complaints: [String] = []
    }

    private let state = Exclusive(State())

    var complaints: [String] { state.change { $0.complaints } }

    // As a consumer it receives the events of sessions, and as a reader of a stream all events.
    func didAdvance(to session: PlaybackSession) { evaluate(.videoChanged(session.video), session) }
    func session(_ session: PlaybackSession, didChangeDuration duration: Duration?) {
        evaluate(.durationChanged(duration), session)
    }
    func session(_ session: PlaybackSession, didPass cuePoints: CuePointPassage) {
        evaluate(.passedCuePoints(cuePoints), session)
    }
    func session(_ session: PlaybackSession, didProgressTo progress: PlaybackProgress) {
        evaluate(.progressed(progress), session)
    }
    func session(_ session: PlaybackSession, didReceive lifecycleEvent: LifecycleEvent) {
        evaluate(.lifecycle(lifecycleEvent), session)
    }
    func session(_ session: PlaybackSession, determinedMediaType mediaType: SourceMediaType) {
        evaluate(.mediaTypeDetermined(mediaType), session)
    }

    func evaluate(_ event: PlayerEvent) {
        state.change { state in
            if event.epoch < state.epoch { state.complaints.append("\(event.kind) of epoch \(event.epoch.number)") }
            state.epoch = max(state.epoch, event.epoch)
            if case .stateChanged(let received) = event.kind {
                if received == state.reportedState { state.complaints.append("\(received) twice") }
                state.reportedState = received
            }
        }
        if let session = event.session { evaluate(event.kind, session, hasPositions: false) }
    }

    private func evaluate(_ kind: PlayerEvent.Kind, _ session: PlaybackSession, hasPositions: Bool = true) {
        state.change { state in
            if case .videoChanged = kind {
                if let life = state.life, !life.isTerminated { state.complaints.append("not terminated") }
                if !state.known.insert(session.id).inserted { state.complaints.append("\(session.id) again") }
                state.life = Life(session: session.id)
                return
            }
            guard var life = state.life, life.session == session.id, !life.isTerminated else {
                state.complaints.append("\(kind) of what is over")
                return
            }
            if let complaint = Self.follow(kind, &life, hasPositions) {
                state.complaints.append("\(complaint): \(kind)")
            }
            state.life = life
        }
    }

    private static func follow(_ kind: PlayerEvent.Kind, _ life: inout Life, _ hasPositions: Bool) -> String? {
        switch kind {
        case .mediaTypeDetermined:
            defer { life.isOpen = true }
            return life.isOpen ? "twice" : nil
        case .durationChanged: return life.isOpen ? nil : "before the media type"
        case .progressed(let progress):
            defer { life.progress = progress }
            if !life.isReady { return "before it is ready" }
            if life.isAtEnd, progress != .beforeBeginning { return "behind the end" }
            return nil
        case .passedCuePoints(let passage):
            if passage.cuePoints.isEmpty { return "nothing passed" }
            return hasPositions && passage.current != life.progress ? "not where it is, \(life.progress as Any)" : nil
        case .lifecycle(let event): return follow(event, &life)
        default: return nil
        }
    }

    private static func follow(_ event: LifecycleEvent, _ life: inout Life) -> String? {
        switch event {
        case .ready:
            defer { life.isReady = true }
            return life.isReady ? "twice" : nil
        case .terminate: life.isTerminated = true
        case .end:
            defer { life.isAtEnd = true }
            return life.progress != .afterEnd || life.isAtEnd ? "not at the end" : nil
        case .bufferEmpty:
            life.isAtEnd = false
            life.isBuffering = true
        case .likelyToKeepUp:
            defer { life.isBuffering = false }
            return life.isBuffering ? nil : "without an empty buffer"
        case .fail: return life.isReady ? "after it was ready" : nil
        default: break
        }
        return nil
    }
}

/// A value that is protected by a mutex.
final class Exclusive<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        value.withLock { value in body(&value) }
    }
}
