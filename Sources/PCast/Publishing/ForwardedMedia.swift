import PCastCore
import PCastRTP
import PCastWebRTC

/// A stream that was subscribed to, as what another publication is made of: what arrives is handed on as it is coded, with
/// the times of its capture.
final class ForwardedMedia: PublishedMedia {
    let life = StreamLifecycle(.publisher)
    let hasSound: Bool
    let videoRate: Double?

    private let media: RemoteMedia

    /// A stream does not tell its rate; encoders, where one is needed, are told this one.
    private static let assumedRate = 30.0

    init(_ media: RemoteMedia, codecs: [Codec]) {
        self.media = media
        hasSound = codecs.contains { $0.mediaType == .audio }
        videoRate = codecs.contains { $0.mediaType == .video } ? Self.assumedRate : nil
        media.life.whenEnded { [weak life] info in
            let isFailure = info.ender == .connection || info.reason == .failed
            life?.end(
                StreamEndedInfo(
                    ender: .source, reason: isFailure ? .failed : .ended, reasonDescription: info.reasonDescription))
        }
    }

    var dimensions: Dimensions? { nil }
    var soundChannels: Int? { nil }

    func deviceName(_ type: MediaType) -> String? { media.streamID.description }

    func add(_ sink: @escaping Sink) -> Int {
        let id = media.feed.add { arrived in
            // Lost sound is a hole in the times of what follows, which whoever plays it conceals.
            guard case .frame(let frame, _) = arrived else { return }
            sink(frame.codec.mediaType == .video ? .video(.coded(frame)) : .codedAudio(frame))
        }
        requestKeyFrame()
        return id
    }

    func remove(_ id: Int) { media.feed.remove(id) }

    func setDemand(_ id: Int, _ wants: Bool) {}

    func requestKeyFrame() { media.call.requestKeyFrame() }
}
