import Foundation
import PCastCore
import PCastJSON
import PCastOverlay
import PCastRendering
import Testing

@testable import PCastPlayback

/// The sentences of Ease Live's page "Events" about events from the player plugin, each with a call.
@Suite("Events from the player plugin", .timeLimit(.minutes(5)))
struct PlayerNotificationSentenceTests {
    typealias Keys = OverlayNotificationKeys

    @Test("playerReady: Sent when the player becomes ready to play.")
    func playerReady() async throws {
        let scene = try await NotificationScene.open()
        var ready = scene.observe(Keys.playerReady)
        _ = try await scene.served.open()
        #expect(await ready.next() != nil)
        #expect(await scene.page.next("player.ready") != nil)
        await scene.close()
    }

    /// The keys that an observer of `playerTime` reads.
    private static let range: @Sendable ([AnyHashable: Any]) -> String = { info in
        let keys = [Keys.timecodeUserInfoKey, Keys.initialTimecodeUserInfoKey, Keys.maxTimecodeUserInfoKey]
        return keys.map { key in (info[key] as? Int64).map { "\($0)" } ?? "none" }.joined(separator: " ")
    }

    @Test(
        "playerTime: The timecodes should be milliseconds since 1970-01-01T00:00:00Z: of the playback position, and of the start and the end of the seekable window"
    )
    func playerTime() async throws {
        let scene = try await NotificationScene.open()
        var times = scene.observe(Keys.playerTime, Self.range)
        _ = try await scene.served.open()
        #expect(await times.next() == "1790000000000 1790000000000 1790000060000")
        await scene.close()
    }

    @Test(
        "initialTimecode and maxTimecode are optional. If not present the stream is considered to be a Live stream without a seekable buffer."
    )
    func liveTime() async throws {
        let scene = try await NotificationScene.open()
        var times = scene.observe(Keys.playerTime, Self.range)
        scene.served.player.set(video: Video("https://origin.example/live.m3u8"), play: true)
        let pipeline = try await scene.served.pipelines.last(scene.served.player)
        var live = ContentOverview(kind: .live, tracks: [.video, .audio], duration: nil, seekableRange: nil)
        live.anchors = ServedOverlay.film.anchors
        pipeline.open(live)
        pipeline.completeSeek()
        #expect(await times.next() == "1790000000000 none none")
        let received = try #require(await scene.page.next("player.time")).metadata
        #expect(received["initialTimecode"] == nil && received["maxTimecode"] == nil)
        await scene.close()
    }

    @Test("playerError: Notifies the SDK of an error in the player or player plugin.")
    func playerError() async throws {
        let scene = try await NotificationScene.open()
        var errors = scene.observe(Keys.playerError) { info in
            (info[Keys.errorUserInfoKey] as? OverlayError)?.reason ?? "none"
        }
        scene.served.player.set(video: Video("broken://a"), play: true)
        let reason = try #require(await errors.next())
        #expect(reason.contains("broken://a"), "\(reason)")
        await scene.close()
    }

    @Test(
        "playerMetadata: Sent when the player reads metadata from the stream. The payload should be a JSON formatted String."
    )
    func playerMetadata() async throws {
        let scene = try await NotificationScene.open()
        var texts = scene.observe(Keys.playerMetadata, Keys.metadataUserInfoKey, String.self)
        let pipeline = try await scene.served.open()
        pipeline.notify(.metadata(TimedMetadata(source: .id3, position: .zero, name: "TXXX", value: "goal")))
        let text = try #require(await texts.next())
        let fields = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(fields["name"] as? String == "TXXX" && fields["value"] as? String == "goal")
        await scene.close()
    }

    @Test("playerState: Sent when the player changes state, for example a change from paused to playing.")
    func playerState() async throws {
        let scene = try await NotificationScene.open()
        // The states of the start are observed, too, because a late one would be taken for the next change.
        var states = scene.observe(Keys.playerState, Keys.stateUserInfoKey, String.self)
        let pipeline = try await scene.served.open()
        while let state = await states.next(), state != "playing" {}
        let player = scene.served.player
        player.pause()
        #expect(await states.next() == "paused")
        player.play()
        #expect(await states.next() == "playing")
        pipeline.starve()
        #expect(await states.next() == "buffering")
        pipeline.feed()
        #expect(await states.next() == "playing")
        async let place = player.seek(to: 12.0)
        #expect(await states.next() == "seeking")
        pipeline.completeSeek()
        #expect(await states.next() == "playing")
        _ = try await place
        player.stop()
        #expect(await states.next() == "stopped")
        await scene.close()
    }

    @Test(
        "playerSpeed: Sent when the player has changed its speed (playback rate). Eg. 0.5 is half speed, 1 is normal speed, 2 is 2x fast forward."
    )
    func playerSpeed() async throws {
        let scene = try await NotificationScene.open()
        var speeds = scene.observe(Keys.playerSpeed, Keys.speedUserInfoKey, Float.self)
        for speed in [0.5, 2, 1] {
            scene.served.player.speed = speed
            #expect(await speeds.next() == "\(Float(speed))")
        }
        await scene.close()
    }

    @Test(
        "playerVolume: Sent when the player has changed its audio volume. Eg. 0 is silent, 100 is normal volume.")
    func playerVolume() async throws {
        let scene = try await NotificationScene.open()
        var volumes = scene.observe(Keys.playerVolume, Keys.volumeUserInfoKey, Int.self)
        for volume in [0, 100] {
            scene.served.player.volume = Double(volume) / 100
            #expect(await volumes.next() == "\(volume)")
        }
        await scene.close()
    }

    @Test(
        "playerMute: Sent when the player has changed its audio mute status. Eg. true is muted, false is unmuted.")
    func playerMute() async throws {
        let scene = try await NotificationScene.open()
        var mutes = scene.observe(Keys.playerMute, Keys.muteUserInfoKey, Bool.self)
        for isMuted in [true, false] {
            scene.served.player.muted = isMuted
            #expect(await mutes.next() == "\(isMuted)")
        }
        await scene.close()
    }

    @Test("playerVideoScale: Sent when the player will change the video surface's scale and position.")
    func playerVideoScale() async throws {
        let center = NotificationCenter()
        let player = Player(.media(playsAudio: false, shownOn: BlankScreen()))
        let overlay = try Overlay(program: "scaled", player: PlayerOverlayPlugin(player), center: center)
        overlay.load()
        let (scales, scale) = AsyncStream.makeStream(of: [Float].self)
        let observer = center.addObserver(forName: Keys.playerVideoScale, object: nil, queue: nil) { notification in
            let keys = [
                Keys.videoScaleXUserInfoKey, Keys.videoScaleYUserInfoKey, Keys.videoPivotXUserInfoKey,
                Keys.videoPivotYUserInfoKey,
            ]
            let duration = notification.userInfo?[Keys.videoScaleDurationUserInfoKey] as? Int ?? -1
            scale.yield(keys.map { notification.userInfo?[$0] as? Float ?? -1 } + [Float(duration)])
        }
        await overlay.settled()
        player.setVideoScale(VideoScale(scaleX: 0.5, scaleY: 0.75, pivotX: 1, pivotY: 0.25, duration: 300))
        #expect(await scales.first { _ in true } == [0.5, 0.75, 1, 0.25, 300])
        center.removeObserver(observer)
        overlay.destroy()
        player.reset()
        await player.settled()
    }
}

/// A surface on which nothing is looked at.
private final class BlankScreen: UnseenSurface {
    func show(_ frame: VideoFrame) {}
}
