import PCastCore
import PCastWebRTC
import Synchronization

/// Hands what arrives to whoever takes it. A taker that comes later begins with what came since the last key frame.
final class ReceivedMediaFeed: Sendable {
    /// Called under the feed's lock: it must neither block nor come back.
    typealias Sink = @Sendable (PeerConnection.Media) -> Void

    private struct State {
        var sinks: [Int: Sink] = [:]
        var lastID = 0
        var backlog: [PeerConnection.Media] = []
        /// The backlog begins with a key frame and has no hole.
        var isWhole = false
    }

    /// Two seconds of video at 60 frames per second: as much as a platform sends a new viewer at once. A renderer decodes all of
    /// it and presents the newest frame.
    private static let backlogLimit = 120

    private let state = Mutex(State())

    /// Takes in what arrived.
    func deliver(_ media: PeerConnection.Media) {
        state.withLock { state in
            Self.keep(media, &state)
            for sink in state.sinks.values { sink(media) }
        }
    }

    func add(_ sink: @escaping Sink) -> Int {
        state.withLock { state in
            for media in state.backlog { sink(media) }
            state.lastID += 1
            state.sinks[state.lastID] = sink
            return state.lastID
        }
    }

    func remove(_ id: Int) { _ = state.withLock { $0.sinks.removeValue(forKey: id) } }

    private static func keep(_ media: PeerConnection.Media, _ state: inout State) {
        guard case .frame(let frame, _) = media, frame.codec.mediaType == .video else { return }
        if frame.isKeyFrame {
            state.backlog = [media]
            state.isWhole = true
        } else if state.isWhole, state.backlog.count < backlogLimit {
            state.backlog.append(media)
        } else {
            state.backlog = []
            state.isWhole = false
        }
    }
}
