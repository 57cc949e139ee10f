import Foundation
import PCastCompatibility
import Testing

@testable import PCastPlayback

/// The interface as VideoKit's documentation describes it. Each comment is a line that a test can read.
class CustomPlayerObserver: PlayerObserver {
    var received: [String] = []

    func playerStateChanged(_ state: PlayerState) {
        // Player state has changed
        switch state {
        case .idle: received.append("idle")
        case .paused(let buffering): received.append("paused \(buffering)")
        case .playing(let buffering): received.append("playing \(buffering)")
        }
    }

    func playerError(_ error: Error) {
        // Some error was encountered. Likely playback was stopped as a consequence.
        received.append("error")
    }

    func playerPlaybackReady() {
        // Player content is ready to be played using play()
        received.append("ready")
    }

    func playerPlaybackFinished() {
        // The playback has reached the end of the content.
        received.append("finished")
    }

    func playerSubtitleChanged(_ text: String?) {
        // Called for subtitled videos when player asks to show the given string of text.
        received.append("subtitle \(text ?? "")")
    }

    func playerVideoChanged(video: Video?) {
        // The current video being played has changed.
        received.append("video \(video == nil ? "none" : "some")")
    }

    func playerDurationChanged(duration: TimeInterval) {
        // The content duration has changed.
        received.append("duration \(duration)")
    }

    func playerPositionChanged(position: TimeInterval) {
        // The playback position has changed.
        received.append("position \(position)")
    }

    func playerMutedChanged(muted: Bool) {
        // The player.muted value has been changed.
        received.append("muted \(muted)")
    }

    func playerAspectModeChanged(aspectMode: AspectMode) {
        // The player.aspectMode value has been changed.
        received.append("aspect \(aspectMode)")
    }
}

@Suite("Code for VideoKit's SDK")
struct VideoKitTests {
    @Test("the samples of “State & Events” compile, and run")
    func stateAndEvents() async throws {
        let (pipelines, observer) = (Pipelines(), CustomPlayerObserver())
        let played = Player(pipelines.factory)
        let player: PlayerProtocol = played
        player.addObserver(observer)  // start listening (weak reference)
        #expect(player.state == PlayerState.idle)
        #expect(player.state.hasContent == false && player.state.isPlaying == false)

        player.set(video: Video("https://origin.example/a.mp4"), play: false)
        #expect(player.state == PlayerState.paused(buffering: true) && player.state.hasContent)
        let pipeline = try #require(await pipelines.last(played))
        pipeline.open(seconds: 4)
        await played.settled()
        player.toggle()
        #expect(player.state == PlayerState.playing(buffering: false) && player.state.isPlaying)
        pipeline.run(seconds: 1)
        await played.settled()
        player.muted = true
        player.aspectMode = .fill
        pipeline.end()
        await played.settled()
        player.removeObserver(observer)  // stop listening
        player.muted = false
        await played.settled()
        #expect(
            observer.received == [
                "video some", "paused true", "duration 4.0", "paused false", "ready", "position 0.0", "playing false",
                "position 1.0", "muted true", "aspect fill", "position 4.0", "paused false", "finished",
            ])
    }
}

/// The sentences of VideoKit's page "State & Events", each with a call.
@Suite("State & Events")
struct VideoKitSentenceTests {
    private let pipelines = Pipelines()
    private let observer = CustomPlayerObserver()
    private let played: Player
    private var player: any PlayerProtocol { played }

    init() {
        played = Player(pipelines.factory)
        player.addObserver(observer)
    }

    /// Content of four seconds, opened.
    private func open(play: Bool = false) async throws -> Pipeline {
        player.set(video: Video("https://origin.example/a.mp4"), play: play)
        let pipeline = try #require(await pipelines.last(played))
        pipeline.open(seconds: 4)
        await played.settled()
        return pipeline
    }

    /// The notifications of a kind that the observer received.
    private func received(_ kind: String) -> [String] { observer.received.filter { $0.hasPrefix(kind) } }

    // MARK: Player state

    @Test("PlayerState.idle: Player has no Video content.")
    func idle() {
        #expect(player.state == PlayerState.idle && player.video == nil)
        #expect(!player.state.hasContent && !player.state.isPlaying)
    }

    @Test(
        "PlayerState.paused(buffering: Bool): Player has content. However, player is currently paused - use play() or toggle() to change."
    )
    func paused() async throws {
        player.set(video: Video("https://origin.example/a.mp4"), play: false)
        #expect(
            player.state == PlayerState.paused(buffering: true), "it might be ready depending on the buffering flag")
        _ = try await open()
        #expect(player.state == PlayerState.paused(buffering: false))
        #expect(player.state.hasContent && !player.state.isPlaying)
        player.play()
        #expect(player.state == PlayerState.playing(buffering: false))
        player.toggle()
        #expect(player.state == PlayerState.paused(buffering: false))
        player.toggle()
        #expect(player.state == PlayerState.playing(buffering: false))
    }

    @Test(
        "PlayerState.playing(buffering: Bool): Player has content and was asked to play it. Depending on the buffering flag, it might be downloading more data or not."
    )
    func playing() async throws {
        let pipeline = try await open(play: true)
        #expect(player.state == PlayerState.playing(buffering: false))
        #expect(player.state.hasContent && player.state.isPlaying)
        pipeline.notify(.buffering(true))
        await played.settled()
        #expect(player.state == PlayerState.playing(buffering: true))
        #expect(player.state.hasContent && !player.state.isPlaying)
        pipeline.notify(.buffering(false))
        await played.settled()
        #expect(player.state == PlayerState.playing(buffering: false))
    }

    // MARK: Player events

    @Test(
        "All PlayerProtocol events are dispatched to a PlayerObserver that was previously registered using addObserver")
    func registered() async throws {
        let late = CustomPlayerObserver()
        player.muted = true
        await played.settled()
        player.addObserver(late)
        player.muted = false
        await played.settled()
        #expect(received("muted") == ["muted true", "muted false"] && late.received == ["muted false"])
    }

    @Test("player.addObserver(observer): start listening (weak reference)")
    func weakly() async throws {
        var second: CustomPlayerObserver? = CustomPlayerObserver()
        weak let gone = second
        player.addObserver(second!)
        second = nil
        #expect(gone == nil)
        player.muted = true
        await played.settled()
        #expect(received("muted") == ["muted true"])
    }

    @Test("player.removeObserver(observer): stop listening")
    func removed() async throws {
        player.removeObserver(observer)
        player.muted = true
        await played.settled()
        #expect(observer.received == [])
    }

    @Test("playerStateChanged: Player state has changed")
    func stateChanged() async throws {
        let pipeline = try await open(play: true)
        player.pause()
        pipeline.notify(.buffering(true))
        await played.settled()
        player.reset()
        await played.settled()
        let states = observer.received.filter { ["idle", "paus", "play"].contains(String($0.prefix(4))) }
        #expect(
            states == ["paused true", "playing true", "playing false", "paused false", "paused true", "idle"])
    }

    @Test("playerError: Some error was encountered. Likely playback was stopped as a consequence.")
    func error() async throws {
        let pipeline = try await open(play: true)
        pipeline.notify(.failed(.brokenPlaylist("a.mp4", reason: "it is a page")))
        await played.settled()
        #expect(received("error") == ["error"] && player.state == PlayerState.idle)
    }

    @Test("playerPlaybackReady: Player content is ready to be played using play()")
    func ready() async throws {
        player.set(video: Video("https://origin.example/a.mp4"), play: false)
        await played.settled()
        #expect(received("ready") == [])
        let pipeline = try await open()
        #expect(received("ready") == ["ready"])
        player.play()
        pipeline.run(seconds: 1)
        await played.settled()
        #expect(player.position == 1)
    }

    @Test("playerPlaybackFinished: The playback has reached the end of the content.")
    func finished() async throws {
        let pipeline = try await open(play: true)
        #expect(received("finished") == [])
        pipeline.end()
        await played.settled()
        #expect(received("finished") == ["finished"])
    }

    @Test("playerSubtitleChanged: Called for subtitled videos when player asks to show the given string of text.")
    func subtitle() async throws {
        let pipeline = try await open(play: true)
        for text in ["Goal!", nil] { pipeline.notify(.subtitle(text)) }
        await played.settled()
        #expect(received("subtitle") == ["subtitle Goal!", "subtitle "])
    }

    @Test("playerVideoChanged: The current video being played has changed.")
    func video() async throws {
        _ = try await open()
        #expect(received("video") == ["video some"] && player.video == Video("https://origin.example/a.mp4"))
        player.set(video: Video("https://origin.example/b.mp4"), play: true)
        player.reset()
        await played.settled()
        #expect(received("video") == ["video some", "video some", "video none"])
    }

    @Test("playerDurationChanged: The content duration has changed, likely because content itself has changed.")
    func duration() async throws {
        _ = try await open()
        #expect(received("duration") == ["duration 4.0"] && player.duration == 4)
        player.set(video: Video("https://origin.example/b.mp4"), play: true)
        try #require(await pipelines.last(played)).open(seconds: 9)
        await played.settled()
        #expect(received("duration").last == "duration 9.0" && player.duration == 9)
    }

    @Test(
        "playerPositionChanged: This is invoked many times during playback to implement a smooth UI seekbar, for example."
    )
    func position() async throws {
        let pipeline = try await open(play: true)
        for second in 1...3 {
            pipeline.run(seconds: 1)
            await played.settled()
            #expect(received("position").last == "position \(second).0")
        }
        #expect(received("position") == (0...3).map { "position \($0).0" })
    }

    @Test("playerMutedChanged: The player.muted value has been changed.")
    func muted() async throws {
        for isMuted in [true, true, false] { player.muted = isMuted }
        await played.settled()
        #expect(received("muted") == ["muted true", "muted false"] && !player.muted)
    }

    @Test("playerAspectModeChanged: The player.aspectMode value has been changed.")
    func aspectMode() async throws {
        for mode in [AspectMode.fill, .fill, .letterbox] { player.aspectMode = mode }
        await played.settled()
        #expect(received("aspect") == ["aspect fill", "aspect letterbox"] && player.aspectMode == .letterbox)
    }
}
