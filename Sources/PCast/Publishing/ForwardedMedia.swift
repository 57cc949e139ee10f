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
