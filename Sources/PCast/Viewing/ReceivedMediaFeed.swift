import PCastCore
import PCastIO
import PCastWebRTC
import Synchronization

/// Distributes received media to sinks. A later sink begins with the media since the last key frame.
final class ReceivedMediaFeed: Sendable {
    /// A function that receives media. It is called under the feed's lock: it must not block or call the feed.
    typealias Sink = @Sendable (PeerConnection.Media) -> Void

    private struct State {
        var sinks: [Int: Sink] = [:]
        var lastID = 0
        var backlog: [PeerConnection.Media] = []
        /// Whether the backlog begins with a key frame and is complete.
        var isComplete = false
    }

    /// The maximum length of the backlog: two seconds of video at 60 frames per second. A platform sends as much to a
    /// new viewer at once. A renderer decodes all of it and presents the newest frame.
    private static let backlogLimit = 120

    private let state = Mutex(State())

    /// Sends received media to the sinks.
    func deliver(_ media: PeerConnection.Media) {
        state.withLock { state in
            Self.keep(media, &state)
            for sink in state.sinks.values { sink(media) }
        }
    }

    /// Adds a sink, which receives the backlog first, and returns its ID.
    func add(_ sink: @escaping Sink) -> Int {
        state.withLock { state in
            for media in state.backlog { sink(media) }
            state.lastID += 1
            state.sinks[state.lastID] = sink
            return state.lastID
        }
    }

    /// Removes the sink.
    func remove(_ id: Int) { _ = state.withLock { $0.sinks.removeValue(forKey: id) } }

    /// Adds a video frame to the backlog, which a key frame empties first.
    private static func keep(_ media: PeerConnection.Media, _ state: inout State) {
        guard case .frame(let frame, _) = media, frame.codec.mediaType == .video else { return }
        if frame.isKeyFrame {
            state.backlog = [media]
            state.isComplete = true
        } else if state.isComplete, state.backlog.count < backlogLimit {
            state.backlog.append(media)
        } else {
            state.backlog = []
            state.isComplete = false
        }
    }
}

/// The viewer's side of a stream: its call and the received media.
final class RemoteMedia: Sendable {
    let streamID: StreamID
    let call: MediaCall
    let feed: ReceivedMediaFeed
    let lifecycle: StreamLifecycle
    /// The playlist in which a renderer can seek; nil if there is none.
    let timeShift: PlaylistMedia?
    private let began = MonotonicClock.now()
    private let endedAt = Mutex<Instant?>(nil)

    init(
        streamID: StreamID, call: MediaCall, feed: ReceivedMediaFeed, lifecycle: StreamLifecycle,
        timeShift: PlaylistMedia? = nil
    ) {
        self.streamID = streamID
        self.call = call
        self.feed = feed
        self.lifecycle = lifecycle
        self.timeShift = timeShift
        lifecycle.whenEnded { [weak self] _ in
            self?.endedAt.withLock { $0 = MonotonicClock.now() }
            call.close()
        }
    }

    /// Returns the mean bit rate during the stream, in bits per second.
    func meanBitrate(of bytes: Int) -> Int {
        let span = (endedAt.withLock { $0 } ?? MonotonicClock.now()) - began
        return span > .zero ? Int(Double(bytes) * 8 / span.seconds) : 0
    }
}
