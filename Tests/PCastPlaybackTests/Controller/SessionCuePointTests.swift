import PCastCore
import PCastJSON
import Testing

@testable import PCastPlayback

@Suite("Cue points of sessions")
struct SessionCuePointTests {
    private let scripts = ScriptedPipelines()
    private let transcript = Transcript()
    private let controller: PlaybackController

    init() {
        controller = PlaybackController(scripts.factory)
        controller.autoPlay = true
    }

    private func passages() async -> [String] {
        await controller.player.settled()
        return transcript.take().filter { $0.hasPrefix("cue points") }
    }

    @Test("in play, seeks, at the end and in a repetition, each move is one event")
    func everyWay() async throws {
        let cuePoints = [0.0, 2, 2, 5].map { CuePoint(at: .seconds($0)) } + [CuePoint.afterContent()]
        controller.addSessionConsumer(transcript)
        controller.setVideos([Video("a.mp4", cuePoints: cuePoints)])
        let script = try await scripts.last(controller.player)
        script.open(.film(8))
        script.completeSeek()
        script.run(1)
        #expect(await passages() == ["cue points 0.0 from -inf to 0.0"])
        controller.player.startSeek(to: .seconds(6))
        #expect(await passages() == [])
        script.completeSeek()
        #expect(await passages() == ["cue points 2.0 2.0 5.0 from 1.0 to 6.0"])
        controller.player.startSeek(to: .seconds(1))
        script.completeSeek()
        #expect(await passages() == ["cue points 2.0 2.0 5.0 from 6.0 to 1.0"])
        // A seek that another one replaced reports nothing.
        controller.player.startSeek(to: .seconds(7))
        controller.player.startSeek(to: .milliseconds(1_500))
        script.completeSeek()
        #expect(await passages() == [])
        script.run(6.5)
        script.end()
        #expect(
            await passages() == [
                "cue points 2.0 2.0 from 1.9 to 2.0", "cue points 5.0 from 4.9 to 5.0",
                "cue points inf from 8.0 to inf",
            ])
        controller.play()
        script.completeSeek()
        #expect(await passages() == ["cue points 0.0 from -inf to 0.0"])
    }

    @Test("cue points that are added during playback are passed if they lie ahead")
    func added() async throws {
        controller.addSessionConsumer(transcript)
        controller.setVideos([Video("a.mp4")])
        let script = try await scripts.last(controller.player)
        script.open(.film(8))
        script.completeSeek()
        script.run(2)
        let session = try #require(controller.session)
        await controller.player.settled()
        session.cuePoints.add(CuePoint(type: "goal", at: .seconds(1), properties: ["team": "home", "minute": 12]))
        session.cuePoints.add(CuePoint(type: "goal", at: .seconds(3), properties: ["team": "visitor"]))
        script.run(2)
        #expect(await passages() == ["cue points 3.0 from 2.9 to 3.0"])
        #expect(session.video.cuePoints.isEmpty && session.cuePoints.ofType("goal").count == 2)
        #expect(session.cuePoints.first?.properties["minute"]?.integer == 12)
    }

    /// Shows the last advertisement that was skipped, and continues after it.
    private final class Advertiser: PlaybackSessionConsumer {
        private let policy = Exclusive(
            CuePointProgressPolicy(processing: .final, resuming: .lastProcessedCuePoint, ignoresProcessed: true))
        let shown = Exclusive<[Double]>([])

        func session(_ session: PlaybackSession, didPass cuePoints: CuePointPassage) {
            let result = policy.change { $0.apply(to: cuePoints) }
            shown.change { $0 += result.cuePoints.map(\.position.seconds) }
            if case .at(let position)? = result.resumeCuePoint?.position {
                session.player?.startSeek(to: position + .milliseconds(1))
            }
        }
    }

    @Test("a policy turns a skip of advertisements into playback of the last one, once")
    func policy() async throws {
        let advertiser = Advertiser()
        controller.addSessionConsumer(advertiser)
        let cuePoints = [30.0, 60, 90].map { CuePoint(type: "ad", at: .seconds($0)) }
        controller.setVideos([Video("a.mp4", cuePoints: cuePoints)])
        let script = try await scripts.last(controller.player)
        script.open(.film(300))
        script.completeSeek()
        await controller.player.settled()
        controller.player.startSeek(to: .seconds(120))
        script.completeSeek()
        await controller.player.settled()
        #expect(script.calls.last == "seek 90.001" && advertiser.shown.change { $0 } == [90])
        script.completeSeek()
        controller.player.startSeek(to: .seconds(120))
        script.completeSeek()
        await controller.player.settled()
        #expect(script.calls.last == "seek 120.0" && advertiser.shown.change { $0 } == [90])
    }
}
