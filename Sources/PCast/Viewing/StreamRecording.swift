import PCastCore
import PCastIO
import PCastRendering
import PCastWebRTC
import Synchronization

/// A recording of a subscribed stream to a file, without decoding. It ends with the stream, or when it is stopped.
public final class StreamRecording: Sendable {
    /// The path of the file.
    public let path: String

    private let media: RemoteMedia
    private let recorder: FileRecorder
    private let taking = Mutex<Int?>(nil)

    /// Begins a recording. `name` is the file's name for people and for the format, if the path is not its name. Throws
    /// an error if the file cannot be written.
    init(of media: RemoteMedia, codecs: [Codec], to path: String, named name: String? = nil) throws(PCastError) {
        self.path = name ?? path
        self.media = media
        do {
            recorder = try FileRecorder(path: path, named: name, tracks: codecs)
        } catch {
            throw PCastError(.failed, .device, "\(name ?? path) cannot be recorded to: \(error)")
        }
        let id = media.feed.add { [recorder] media in
            if case .frame(let frame, let arrival) = media { recorder.push(frame, arrivedAt: arrival) }
        }
        taking.withLock { $0 = id }
        // The recorder waits for a key frame before it writes anything.
        media.call.requestKeyFrame()
        media.lifecycle.whenEnded { [self] _ in stop() }
    }

    /// The number of frames in the file so far.
    public var framesWritten: Int { recorder.framesWritten }

    /// The reason of a failure as a text for people; nil if there is none.
    public var failure: String? { recorder.failure }

    /// Writes the remaining frames and the end of the file, and waits for that. It has no effect when it is called
    /// again.
    public func stop() {
        let id = taking.withLock { taking in
            defer { taking = nil }
            return taking
        }
        if let id { media.feed.remove(id) }
        recorder.finish()
    }
}

/// The viewer's side of a stream: its call and the received media.
final class RemoteMedia: Sendable {
    let streamID: StreamID
    let call: MediaCall
    let feed: ReceivedMediaFeed
    let lifecycle: StreamLifecycle
    private let began = MonotonicClock.now()
    private let endedAt = Mutex<Instant?>(nil)

    init(streamID: StreamID, call: MediaCall, feed: ReceivedMediaFeed, lifecycle: StreamLifecycle) {
        self.streamID = streamID
        self.call = call
        self.feed = feed
        self.lifecycle = lifecycle
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

/// Distributes received media to sinks. A later sink begins with the media since the last key frame.
final class ReceivedMediaFeed: Sendable {
    /// A function that receives media. It is called under the feed's lock: it must not block or call the feed.
    typealias Sink = @Sendable (PeerConnection.Media) -> Void

    private struct State {
        var sinks: [Int: Sink] = [:]
        var lastID = 0
        var backlog: [PeerConnection.Media] = []
        /// Whether the backlog begins with a key frame and is complete.
        var isWhole = false
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
            state.isWhole = true
        } else if state.isWhole, state.backlog.count < backlogLimit {
            state.backlog.append(media)
        } else {
            state.backlog = []
            state.isWhole = false
        }
    }
}
