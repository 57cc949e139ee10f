public import PCastCore
import Synchronization

/// Playback commands and positions.
extension Player {
    /// The state of playback.
    public var state: PlayerState { read { $0.session }?.playerState ?? .idle }

    /// The state as overlays receive it.
    public var overlayState: OverlayPlayerState { read { $0.session }?.overlayState ?? .stopped }

    /// A snapshot of playback now; nil without content.
    public var playhead: Playhead? { session?.playhead }

    /// The position in seconds; zero without content.
    public var position: Double { playhead?.position.seconds ?? 0 }

    /// The duration in seconds: infinity for live media, and zero before it is known.
    public var duration: Double {
        guard let overview = session?.overview else { return 0 }
        return overview.duration?.seconds ?? (overview.kind == .live ? .infinity : 0)
    }

    /// The end of the media that can be displayed without more loading, in seconds.
    public var bufferedPosition: Double {
        guard let session else { return 0 }
        return (session.bufferedPosition ?? session.playhead.position).seconds
    }

    /// Plays.
    public func play() { change { state in _ = changeSession(&state) { $0.play() } } }

    /// Pauses.
    public func pause() { change { state in _ = changeSession(&state) { $0.pause() } } }

    /// Pauses if it is set to play, and plays otherwise.
    public func toggle() {
        change { state in
            _ = changeSession(&state) { session in
                if session.isSetToPlay { session.pause() } else { session.play() }
            }
        }
    }

    /// Pauses at the beginning.
    public func stop() { change { state in _ = changeSession(&state) { $0.stop() } } }

    /// Seeks to a position in seconds, clamped to the seekable range. Returns the position that was reached. Throws the
    /// errors of ``SeekRequest/reachedPosition``.
    @discardableResult
    public func seek(to position: Double) async throws -> Double {
        try await startSeek(to: Duration(boundedSeconds: position)).reachedPosition.seconds
    }

    /// Seeks to a position of the item, clamped to the seekable range, once the media is open. Returns the position
    /// that was reached. Throws the errors of ``SeekRequest/reachedPosition``.
    @discardableResult
    public func seek(to position: Duration) async throws -> Duration {
        try await startSeek(to: position).reachedPosition
    }

    /// Seeks to the frame of a wall-clock time. Returns the position that was reached. Throws the errors of
    /// ``SeekRequest/reachedPosition``.
    @discardableResult
    public func seek(to moment: WallTime) async throws -> Duration { try await startSeek(to: moment).reachedPosition }

    /// Seeks to the default distance from the live edge. Returns the position that was reached. Throws the errors of
    /// ``SeekRequest/reachedPosition``.
    @discardableResult
    public func seekToLiveEdge() async throws -> Duration { try await startSeek(.liveEdge).reachedPosition }

    /// Starts a seek to a position of the item, in the order of the calls, without waiting. The request can be awaited.
    @discardableResult
    public func startSeek(to position: Duration) -> SeekRequest { startSeek(.position(TimeSpan(position))) }

    /// Starts a seek to the frame of a wall-clock time, without waiting.
    @discardableResult
    public func startSeek(to moment: WallTime) -> SeekRequest { startSeek(.moment(moment)) }

    /// Starts a seek to a target.
    private func startSeek(_ target: SeekTarget) -> SeekRequest {
        let request = SeekRequest()
        let hasContent = change { state in changeSession(&state) { $0.seek(to: target, request) } } != nil
        if !hasContent { request.complete(.failed(.notSeekable)) }
        return request
    }
}

extension Duration {
    /// Creates a duration of a number of seconds, clamped to about 32 years either way. NaN is zero.
    package init(boundedSeconds seconds: Double) {
        self = TimeSpan(seconds: seconds.isNaN ? 0 : min(max(seconds, -1e9), 1e9)).duration
    }
}

/// A seek that is in progress until a frame of its position is displayed.
public final class SeekRequest: Sendable {
    /// The result of a seek.
    enum Outcome: Sendable {
        /// The seek was completed at a position.
        case landed(Duration)
        /// The seek failed.
        case failed(PlaybackError)
        /// Another seek replaced this one, or the session is over.
        case superseded

        /// Returns the position, or throws the error.
        func get() throws -> Duration {
            switch self {
            case .landed(let position): return position
            case .failed(let error): throw error
            case .superseded: throw CancellationError()
            }
        }
    }

    private struct State {
        var outcome: Outcome?
        var waiting: [Int: CheckedContinuation<Duration, any Error>] = [:]
        var lastID = 0
        var cancelled: Set<Int> = []
    }

    private let state = Mutex(State())

    init() {}

    /// The position that the seek reached, which this property awaits. It throws a ``PlaybackError`` if the content is
    /// not seekable or playback failed. It throws `CancellationError` if another seek replaced this one, the session is
    /// over, or the waiting task was cancelled, which does not end the seek.
    public var reachedPosition: Duration {
        get async throws {
            let id = state.withLock { state in
                state.lastID += 1
                return state.lastID
            }
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    let outcome = state.withLock { state -> Outcome? in
                        if let outcome = state.outcome { return outcome }
                        if state.cancelled.remove(id) != nil { return .superseded }
                        state.waiting[id] = continuation
                        return nil
                    }
                    if let outcome { continuation.resume(with: Result { try outcome.get() }) }
                }
            } onCancel: {
                let waiting = state.withLock { state in
                    guard let waiting = state.waiting.removeValue(forKey: id) else {
                        state.cancelled.insert(id)
                        return nil as CheckedContinuation<Duration, any Error>?
                    }
                    return waiting
                }
                waiting?.resume(throwing: CancellationError())
            }
        }
    }

    /// Completes the seek. Only the first outcome counts.
    func complete(_ outcome: Outcome) {
        let waiting = state.withLock { state in
            guard state.outcome == nil else { return [CheckedContinuation<Duration, any Error>]() }
            state.outcome = outcome
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for waiter in waiting { waiter.resume(with: Result { try outcome.get() }) }
    }
}
