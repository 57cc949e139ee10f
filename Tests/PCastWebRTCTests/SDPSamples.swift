/// Descriptions of real peers.
enum SDPSamples {
    static let all = [
        aiortcViewerAnswer,
        aiortcViewerOffer,
        aiortcPublisherAnswer,
        aiortcPublisherOffer,
        chromiumViewerAnswer,
        chromiumViewerOffer,
        chromiumSimulcastAnswer,
        chromiumSimulcastOffer,
        chromiumPublisherAnswer,
        chromiumPublisherOffer,
        ffmpegPublisherAnswer,
        ffmpegPublisherOffer,
        gstreamerViewerAnswer,
        gstreamerViewerOffer,
        gstreamerPublisherAnswer,
        gstreamerPublisherOffer,
        janusStreamingOffer,
    ]

    static let offers = [
        aiortcViewerOffer,
        aiortcPublisherOffer,
        chromiumViewerOffer,
        chromiumSimulcastOffer,
        chromiumPublisherOffer,
        ffmpegPublisherOffer,
        gstreamerViewerOffer,
        gstreamerPublisherOffer,
        janusStreamingOffer,
    ]
}
