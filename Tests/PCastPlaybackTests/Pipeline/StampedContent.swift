import PCastCore
import PCastIO
import Synchronization

@testable import PCastPlayback

/// A deterministic content of stamped media. It can wait at a position, fail there, and be interrupted.
final class StampedContent: PlaybackContent {
    private struct State {
        var overview: ContentOverview?
        var received: ContentOverview
        var reading: StampedReading
        var gate: TimeSpan?
        var failure: PlaybackError?
        var isInterrupted = false
        var isClosed = false
        var seeks: [TimeSpan] = []
        var openings = 0
    }

    private let media: StampedMedia
    private let state: Mutex<State>
    private let changed = WakeSignal()

    /// Creates a content that can be read up to `gate` at first. `failure` is thrown there instead of waiting.
    init(_ media: StampedMedia, gate: TimeSpan? = nil, failure: PlaybackError? = nil) {
        self.media = media
        state = Mutex(
            State(received: media.overview, reading: StampedReading(media), gate: gate, failure: failure))
    }

    var overview: ContentOverview? { state.withLock { $0.overview } }

    var seeks: [TimeSpan] { state.withLock { $0.seeks } }
    var openings: Int { state.withLock { $0.openings } }
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Allows reading up to a position.
    func open(gate: TimeSpan?) {
        state.withLock { $0.gate = gate }
        changed.raise()
    }

    /// Changes the known properties, such as a window that has moved.
    func change(_ body: (inout ContentOverview) -> Void) {
        state.withLock { state in
            body(&state.received)
            if state.overview != nil { state.overview = state.received }
        }
    }

    func open() throws(PlaybackError) -> TimeSpan {
        let failure = state.withLock { state -> PlaybackError? in
            state.openings += 1
            state.overview = state.received
            return state.gate == .zero ? state.failure : nil
        }
        if let failure { throw failure }
        return .zero
    }

    func read() throws(PlaybackError) -> ContentItem? {
        enum Outcome {
            case item(ContentItem?)
            case failed(PlaybackError)
            case wait
        }
        while true {
            let outcome = state.withLock { state -> Outcome in
                if state.isInterrupted {
                    state.isInterrupted = false
                    return .failed(.interrupted)
                }
                if let gate = state.gate, let position = state.reading.position, position >= gate {
                    return state.failure.map { .failed($0) } ?? .wait
                }
                return .item(state.reading.next())
            }
            switch outcome {
            case .item(let item): return item
            case .failed(let error): throw error
            case .wait: changed.wait(until: nil)
            }
        }
    }

    func seek(to position: TimeSpan) throws(PlaybackError) -> TimeSpan {
        let error = state.withLock { state -> PlaybackError? in
            if state.isInterrupted {
                state.isInterrupted = false
                return .interrupted
            }
            guard state.received.seekableRange != nil else { return .notSeekable }
            state.seeks.append(position)
            state.reading = StampedReading(media, at: position)
            return nil
        }
        if let error { throw error }
        return position
    }

    func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind) throws(PlaybackError) {
        let error = state.withLock { state -> PlaybackError? in
            if state.isInterrupted {
                state.isInterrupted = false
                return .interrupted
            }
            let mine = state.received.tracks.filter { $0.kind == kind }.map(\.id)
            if let track, !mine.contains(track) { return .noTrack(track.rawValue) }
            state.received.selected.subtract(mine)
            if let track { state.received.selected.insert(track) }
            state.overview = state.received
            return nil
        }
        if let error { throw error }
    }

    func interrupt() {
        state.withLock { $0.isInterrupted = true }
        changed.raise()
    }

    func close() { state.withLock { $0.isClosed = true } }
}
