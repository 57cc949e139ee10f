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
