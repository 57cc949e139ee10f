// A program outside the package with the product PCastCompatibility. It uses the names of other vendors' SDKs, with
// callbacks.
import PCastCompatibility

// Phenix.
let pcast: PhenixPCast = PhenixPCastFactory.createPCast("http://127.0.0.1:8080")
let options = PhenixPCastInitializeOptions()
options.configureLogging = true
pcast.initialize(options)
pcast.start(
    "", { _, status, sessionId in print(status == PhenixRequestStatus.ok, sessionId ?? "") }, { _ in print("online") },
    { _ in print("offline") })
pcast.subscribe("") { _, status, stream in
    guard status == .ok, let stream: PhenixMediaStream else { return }
    stream.setStreamEndedCallback { (_, reason: PhenixStreamEndedReason, description: String) in
        print(reason, description)
    }
    let renderer: PhenixRenderer = stream.createRenderer()
    renderer.setRenderSurfaceReadyCallback { _, surface in print(surface is VideoWindow) }
    renderer.setDataQualityChangedCallback { (_, status: PhenixDataQualityStatus, reason: PhenixDataQualityReason) in
        print(status, reason)
    }
    let started: PhenixRendererStartStatus = renderer.start()
    print(started == .ok, renderer.audioMuted)
}
let sources = PhenixUserMediaOptions()
sources.audio.enabled = false
pcast.getUserMedia(sources) { pcast, status, media in
    guard let media: PhenixUserMediaStream else { return }
    pcast.publish(
        "", media.mediaStream,
        { _, _, publisher in
            publisher?.setPublisherEndedCallback { _, reason, _ in print(reason) }
            publisher?.stop("ended")
        }, ["studio"])
}

// The callback forms of the SDK.
let client = PCast(PCastOptions())
client.subscribe(streamToken: "") { (_: PCast, status: RequestStatus, _: MediaStream?) in print(status) }

// Brightcove.
let controller = BCOVPlaybackController(.media(playsAudio: false))
controller.setVideos([BCOVVideo("film.mp4", cuePoints: [BCOVCuePoint(type: "goal", at: .seconds(12))])])
controller.seek(to: 12) { isComplete in print(isComplete) }

// Ease Live.
let player = Player(.media(playsAudio: false))
let overlay = try EaseLive(program: "final", player: PlayerOverlayPlugin(player))
overlay.load()
print(EaseLiveNotificationKeys.playerTime)

// Quickplay.
let manager = FLStreamTimelineFactory.streamTimelineManager(
    configuration: FLStreamTimelineFactory.streamTimelineConfiguration(leagueName: "NHL", gameId: "1"), player: player)
manager.canSubscribeEvents { isPermitted in print(isPermitted) }

// VideoKit.
let kit: any PlayerProtocol = player
kit.set(video: Video("film.mp4"), play: true)
kit.aspectMode = AspectMode.letterbox
print(kit.position, kit.duration)
