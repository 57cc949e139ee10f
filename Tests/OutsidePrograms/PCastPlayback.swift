// A program outside the package with the product PCastPlayback. It plays videos, follows cue points and a game, and puts
// a page over the video.
import PCastPlayback

/// Prints the cue points of a session.
final class Consumer: PlaybackSessionConsumer {
    func session(_ session: PlaybackSession, didPass cuePoints: CuePointPassage) {
        for cuePoint: CuePoint in cuePoints.cuePoints { print(cuePoint.type ?? "", cuePoint.properties) }
    }

    func session(_ session: PlaybackSession, didChangeDuration duration: Duration?) {
        print(duration ?? .zero)
    }
}

/// Prints the position in seconds (VideoKit's names).
final class Observer: PlayerObserver {
    func playerPositionChanged(position: Double) { print(position) }
    func playerStateChanged(_ state: PlayerState) { print(state.isPlaying) }
}

let surface = MemorySurface()
let controls = PlayerControls(on: surface)
let capture = PlaybackCapture(frameRate: 25)
let player = Player(
    .media(
        playsAudio: false, shownOn: controls.surface, capturedBy: capture,
        configuration: HLSContent.Configuration(bitrateCeiling: Bitrate.kilobits(2_000), timeout: .seconds(5))))
controls.attach(player)
let observer = Observer()
player.addObserver(observer)
let events = player.events()
let goal = CuePoint(type: "goal", at: .seconds(12), properties: ["team": .string("home"), "minute": .number(7)])
player.set(
    video: Video(
        "https://example.com/main.m3u8", cuePoints: [goal, .afterContent()],
        wallClock: .start(WallTime(millisecondsSinceEpoch: 0))), play: true)
for await event: PlayerEvent in events {
    switch event.kind {
    case .ready: print(player.tracks.map(\.name), player.session?.duration ?? .zero)
    case .error(let error): print(error.description)
    case .passedCuePoints(let passage): print(passage.cuePoints.ofType("goal").count)
    case .progressed(.afterEnd): break
    default: continue
    }
    break
}
do {
    let position: Duration = try await player.seek(to: .seconds(30))
    let seconds: Double = try await player.seek(to: 31.5)
    print(position, seconds, player.resume(at: .seconds(3)))
} catch let error as PlaybackError {
    print(error.description)
}

// A controller with sessions.
let controller = PlaybackController(.media(playsAudio: false))
controller.addSessionConsumer(Consumer())
controller.setVideos([Video(sources: [Source("pcast://127.0.0.1:8080")]), Video("film.mp4")])
controller.autoAdvance = true

// An overlay, and the timeline of a game.
let overlay = try Overlay(program: "final", player: PlayerOverlayPlugin(player, controls: controls))
let bridge = OverlayBridge([overlay])
overlay.load()
overlay.post(OverlayMessage.appLanguage("en"))
let isScaled = player.setVideoScale(VideoScale(scaleX: 0.5, scaleY: 0.5))
let timeline = GameTimeline(
    TimelineConfiguration(leagueName: "NHL", gameId: "1"), player: player,
    source: TimelinePlatform(uri: "http://127.0.0.1:8080"))
overlay.use(TimelineOverlayPlugin(timeline))
for event: GameEvent in timeline.shownEvents { print(event.type == GameEventKind.periodStart, event.moment ?? "") }
for await delivery: TimelineDelivery in timeline.events() {
    print(delivery)
    break
}
print(isScaled, overlay.status == OverlayStatus.enabled, bridge.address(of: overlay, port: 80))

// The stream of all that is played, published by the SDK, which needs no import of its own.
let pcast = PCast(PCastOptions(uri: "http://127.0.0.1:8080"))
try await pcast.start()
let publisher: Publisher = try await pcast.publish(mediaStream: capture.mediaStream, tags: ["channel"])
try await player.startExternalPlayback(StreamExternalPlayback(of: capture, through: pcast, token: ""))
publisher.stop()
player.reset()
await player.settled()
