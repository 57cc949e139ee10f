import PCastCore
import PCastRTP
import PCastWebRTC

/// A subscribed stream as the media of another publication. The encoded frames are forwarded with their capture times.
final class ForwardedMedia: PublishedMedia {
    let lifecycle = StreamLifecycle(.publisher)
    let hasAudio: Bool
    let videoRate: Double?

    private let media: RemoteMedia

    /// The frame rate for encoders, because a stream does not signal its frame rate.
    private static let assumedRate = 30.0

    init(_ media: RemoteMedia, codecs: [Codec]) {
        self.media = media
        hasAudio = codecs.contains { $0.mediaType == .audio }
        videoRate = codecs.contains { $0.mediaType == .video } ? Self.assumedRate : nil
        media.lifecycle.whenEnded { [weak lifecycle] info in
            let isFailure = info.ender == .connection || info.reason == .failed
            lifecycle?.end(
                StreamEndedInfo(
                    ender: .source, reason: isFailure ? .failed : .ended, reasonDescription: info.reasonDescription))
        }
    }

    var dimensions: Dimensions? { nil }
    var audioChannels: Int? { nil }

    func deviceName(_ type: MediaType) -> String? { media.streamID.description }

    func add(_ sink: @escaping Sink) -> Int {
        let id = media.feed.add { arrived in
            // Lost audio is a gap between the timestamps, which the receiver conceals.
            guard case .frame(let frame, _) = arrived else { return }
            sink(frame.codec.mediaType == .video ? .video(.coded(frame)) : .codedAudio(frame))
        }
        requestKeyFrame()
        return id
    }

    func remove(_ id: Int) { media.feed.remove(id) }

    func setDemand(_ id: Int, _ hasSubscribers: Bool) {}

    func requestKeyFrame() { media.call.requestKeyFrame() }
}

/// The source of a publication's frames.
protocol PublishedMedia: AnyObject, Sendable {
    /// A function that receives frames.
    typealias Sink = @Sendable (SourceFrame) -> Void

    /// The lifecycle of the source.
    var lifecycle: StreamLifecycle { get }
    /// The frame rate in frames per second, as far as the source knows it; nil without video.
    var videoRate: Double? { get }
    /// The present dimensions of the frames; nil if the source does not know them.
    var dimensions: Dimensions? { get }
    /// Whether the source has audio.
    var hasAudio: Bool { get }
    /// The number of audio channels, 1 or 2; nil without audio, or if the audio is already encoded.
    var audioChannels: Int? { get }

    /// Returns the name of the device for people, which appears in statistics; nil if there is none.
    func deviceName(_ type: MediaType) -> String?

    /// Adds a sink and returns its ID. Frames of each type arrive sequentially; the sink must not block. Throws an
    /// error if the source cannot start.
    func add(_ sink: @escaping Sink) throws(PCastError) -> Int
    /// Removes the sink.
    func remove(_ id: Int)
    /// Sets whether a sink has subscribers.
    func setDemand(_ id: Int, _ hasSubscribers: Bool)

    /// Requests a key frame from a source that encodes its frames itself.
    func requestKeyFrame()
}

extension LocalMedia: PublishedMedia {
    var videoRate: Double? { video?.nominalFrameRate }
    var dimensions: Dimensions? { video?.dimensions }
    var hasAudio: Bool { audio != nil }
    var audioChannels: Int? { audio?.channels }

    func deviceName(_ type: MediaType) -> String? {
        type == .video ? video?.selection?.device.info.name : audio?.selection?.device.info.name
    }

    func requestKeyFrame() { video?.requestKeyFrame() }
}
