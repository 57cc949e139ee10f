import PCastCore
import Testing

@testable import PCastPlayback

@Suite("Stalls and interruptions of playback")
struct InterruptedPlaybackTests {
    private let scripts = ScriptedPipelines()
    private let transcript = Transcript()
    private let controller: PlaybackController

    init() {
        controller = PlaybackController(scripts.factory)
        controller.addSessionConsumer(transcript)
        controller.autoPlay = true
    }

    private func received() async -> [String] {
        await controller.player.settled()
        return transcript.take()
    }

    private func playing(_ cuePoints: [CuePoint] = []) async throws -> ScriptedPipeline {
        controller.setVideos([Video("a.mp4", cuePoints: cuePoints)])
        let script = try await scripts.last(controller.player)
        script.open(.film(60))
        script.completeSeek()
        script.run(3)
        _ = await received()
        return script
    }

    @Test("advancing frames can stall and recover, and a seek empties the buffer without a stall")
    func stalls() async throws {
        let script = try await playing()
        script.starve()
        #expect(await received() == ["+ bufferEmpty", "+ stalled"])
        #expect(controller.player.state == .playing(buffering: true) && controller.player.overlayState == .buffering)
        let position = controller.player.position
        script.run(5)
        #expect(await received() == [] && controller.player.position == position)
        script.feed()
        #expect(await received() == ["+ likelyToKeepUp", "+ recovered"] && controller.player.state.isPlaying)
        controller.player.startSeek(to: .seconds(30))
        script.completeSeek()
        #expect(await received() == ["+ bufferEmpty", "+ likelyToKeepUp"])
        controller.pause()
        script.starve()
        script.feed()
        #expect(await received() == ["+ pauseRequest", "+ pause", "+ bufferEmpty", "+ likelyToKeepUp"])
    }

    @Test("interrupted playback resumes at its position in the same session with another pipeline")
    func resume() async throws {
        let first = try await playing([CuePoint(at: .seconds(1)), CuePoint(at: .seconds(4))])
        let session = try #require(controller.session)
        #expect(!controller.resumeVideo())
        first.starve()
        first.notify(.failed(.brokeOff("a.mp4", reason: "the server is gone")))
        let broken = await received()
        #expect(broken.prefix(2) == ["+ bufferEmpty", "+ stalled"] && broken.count == 3)
        #expect(broken[2].contains("failedToPlayToEndTime") && controller.player.state == .idle)
        #expect(first.isStopped && session.duration == .seconds(60))
        controller.play()
        #expect(await received() == [])

        let before = session.playhead.epoch
        #expect(controller.resumeVideo() && !controller.resumeVideo())
        let second = try await scripts.last(controller.player)
        #expect(second !== first && controller.session === session)
        #expect(await received() == ["+ resumeBegin", "+ bufferEmpty"])
        second.notify(.failed(.unreachable("a.mp4", reason: "still gone")))
        let again = await received()
        #expect(again.count == 1 && again[0].contains("resumeFail"))

        #expect(controller.resumeVideo())
        let third = try await scripts.last(controller.player)
        // Events of an earlier pipeline are ignored.
        first.notify(.landed(.zero))
        third.open(.film(60))
        await controller.player.settled()
        third.completeSeek()
        #expect(await received() == ["+ resumeBegin", "+ bufferEmpty", "+ resumeComplete", "+ likelyToKeepUp"])
        #expect(third.calls == ["play", "seek 3.0"] && controller.player.position == 3)
        #expect(session.playhead.epoch > before)
        third.run(2)
        #expect(await received() == ["cue points 4.0 from 3.9 to 4.0"])
    }

    @Test("playback can be resumed at another position, and paused")
    func elsewhere() async throws {
        let first = try await playing()
        first.notify(.failed(.brokeOff("a.mp4", reason: "gone")))
        _ = await received()
        #expect(controller.resumeVideo(at: .seconds(20), autoPlay: false))
        let second = try await scripts.last(controller.player)
        second.open(.film(60))
        await controller.player.settled()
        second.completeSeek()
        #expect(await received().last == "+ likelyToKeepUp")
        #expect(controller.player.state == .paused(buffering: false) && second.calls == ["seek 20.0"])
    }

    /// Another device.
    private actor Device: ExternalPlayback {
        private(set) var log: [String] = []
        private let isRefusing: Bool

        init(isRefusing: Bool = false) { self.isRefusing = isRefusing }

        func start(_ session: PlaybackSession) async throws {
            if isRefusing { throw PlaybackError.unreachable("device", reason: "it is off") }
            log.append("start \(session.source?.address ?? "")")
        }

        func stop(_ session: PlaybackSession) async { log.append("stop \(session.source?.address ?? "")") }

        /// Returns when a number of calls have arrived.
        func received(_ count: Int) async {
            while log.count < count { await Task.yield() }
        }
    }

    @Test("playback on another device is silent locally until it ends or the session is over")
    func external() async throws {
        await #expect(throws: PlaybackError.self) { try await controller.player.startExternalPlayback(Device()) }
        let script = try await playing()
        let device = Device()
        await #expect(throws: PlaybackError.self) {
            try await controller.player.startExternalPlayback(Device(isRefusing: true))
        }
        #expect(await received() == [])
        try await controller.player.startExternalPlayback(device)
        #expect(await received() == ["elsewhere true", "+ startCastSession"] && script.isMuted)
        #expect(controller.player.isExternalPlaybackActive && !controller.player.muted)
        await #expect(throws: PlaybackError.self) { try await controller.player.startExternalPlayback(device) }
        let late = Transcript()
        controller.addSessionConsumer(late)
        await controller.player.settled()
        #expect(late.take().last == "elsewhere true")

        await controller.player.stopExternalPlayback()
        await controller.player.stopExternalPlayback()
        #expect(await received() == ["elsewhere false", "+ endCastSession"] && !script.isMuted)
        try await controller.player.startExternalPlayback(device)
        controller.setVideos([Video("b.mp4")])
        #expect(
            await received().prefix(6) == [
                "elsewhere true", "+ startCastSession", "elsewhere false", "+ endCastSession", "+ terminate",
                "session of b.mp4",
            ])
        await device.received(4)
        #expect(await device.log == ["start a.mp4", "stop a.mp4", "start a.mp4", "stop a.mp4"])
        controller.allowsExternalPlayback = false
        await #expect(throws: PlaybackError.self) { try await controller.player.startExternalPlayback(device) }
    }
}
