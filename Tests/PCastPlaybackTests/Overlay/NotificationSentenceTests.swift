import Foundation
import PCastCore
import PCastJSON
import PCastOverlay
import PCastRendering
import Testing

@testable import PCastPlayback

/// The sentences of Ease Live's page "Events", each with a call: the page is connected by the real bridge.
@Suite("Events", .timeLimit(.minutes(5)))
struct NotificationSentenceTests {
    typealias Keys = OverlayNotificationKeys

    @Test("It is possible to send notification to the SDK from anywhere in the app and the SDK will receive them")
    func anywhere() async throws {
        let scene = try await NotificationScene.open()
        _ = try await scene.served.open()
        await Task.detached { scene.post(Keys.bridgeState, [Keys.stateUserInfoKey: "paused"]) }.value
        #expect(await scene.page.hears("player.state", "state", .string("paused")))
        #expect(scene.served.player.state == .paused(buffering: false))
        await scene.close()
    }

    // MARK: Events from the SDK

    @Test("easeLiveReady: Sent from the SDK when all the components becomes fully operational.")
    func easeLiveReady() async throws {
        let scene = try await NotificationScene.open()
        let posted = Exclusive(0)
        var ready = scene.observe(Keys.easeLiveReady) { _ in
            posted.change { $0 += 1 }
            return "ready"
        }
        // Bridge and page are, the player is not.
        await scene.served.overlay.settled()
        #expect(posted.change { $0 } == 0)
        _ = try await scene.served.open()
        #expect(await ready.next() == "ready")
        #expect(scene.served.overlay.phase == .ready)
        await scene.close()
    }

    @Test(
        "easeLiveError: Sent when an error occurs in the SDK or plugins. The app should destroy the SDK on fatal errors.",
        arguments: [OverlayError.Level.warning, .fatal])
    func easeLiveError(_ level: OverlayError.Level) async throws {
        let scene = try await NotificationScene.open()
        var errors = scene.observe(Keys.easeLiveError) { info in
            guard let error = info[Keys.errorUserInfoKey] as? OverlayError else { return "none" }
            return "\(error.level == OverlayError.Level.fatal) \(error.reason)"
        }
        scene.say("app.error", #"{"type":"\#(level == .fatal ? "fatal" : "warning")","message":"no graphics"}"#)
        #expect(await errors.next() == "\(level == .fatal) no graphics")
        await scene.served.overlay.settled()
        #expect((scene.served.overlay.phase == .destroyed) == (level == .fatal))
        await scene.close()
    }

    // MARK: Events from the app

    @Test("appLanguage: Sent from the mobile app when it wants to change the language of the overlay UI.")
    func appLanguage() async throws {
        let scene = try await NotificationScene.open()
        scene.post(Keys.appLanguage, [Keys.languageUserInfoKey: "nb"])
        #expect(await scene.page.hears("app.language", "language", .string("nb")))
        await scene.close()
    }

    @Test("appMessage: Sent from the mobile app to notify about a generic message")
    func appMessage() async throws {
        let scene = try await NotificationScene.open()
        let text = #"{"event":"poll.opened","metadata":{"question":"Who wins?"}}"#
        scene.post(Keys.appMessage, [Keys.jsonStringUserInfoKey: text])
        #expect(await scene.page.hears("poll.opened", "question", .string("Who wins?")))
        await scene.close()
    }

    // MARK: Events from the overlay UI

    @Test("bridgeAppStatus: Sent when the status of the overlay changes: enabled, hidden, disabled")
    func bridgeAppStatus() async throws {
        let scene = try await NotificationScene.open()
        var statuses = scene.observe(Keys.bridgeAppStatus, Keys.statusUserInfoKey, String.self)
        for status in ["hidden", "enabled", "disabled"] {
            scene.say("app.status", #"{"status":"\#(status)"}"#)
            #expect(await statuses.next() == status)
        }
        await scene.served.overlay.settled()
        #expect(scene.served.overlay.phase == .destroyed, "it should be removed from the app")
        await scene.close()
    }

    @Test("bridgeReady: Sent when the bridge is ready to receive events.")
    func bridgeReady() async throws {
        let scene = try await NotificationScene()
        var ready = scene.observe(Keys.bridgeReady)
        scene.page.say("bridge.ready", seq: 1)
        #expect(await ready.next() != nil)
        scene.post(Keys.appLanguage, [Keys.languageUserInfoKey: "nb"])
        #expect(await scene.page.hears("app.language", "language", .string("nb")))
        await scene.close()
    }

    @Test(
        "bridgeStage: Sent when the stage of the overlay UI is clicked, and should trigger a change in the visibility of the player controls."
    )
    func bridgeStage() async throws {
        let scene = try await NotificationScene.open()
        var stages = scene.observe(Keys.bridgeStage, Keys.controlsUserInfoKey, String.self)
        for controls in ["visible", "hidden"] {
            scene.say("stage.clicked", #"{"controls":"\#(controls)"}"#)
            #expect(await stages.next() == controls)
            #expect(await scene.page.hears("player.controls", "controls", .string(controls)))
        }
        await scene.close()
    }

    @Test("bridgeStageSwipe: Sent when the stage of the overlay UI is swiped: left, right, up or down")
    func bridgeStageSwipe() async throws {
        let scene = try await NotificationScene.open()
        var swipes = scene.observe(Keys.bridgeStageSwipe, Keys.directionUserInfoKey, String.self)
        for direction in ["left", "right", "up", "down"] {
            scene.say("stage.swipe", #"{"direction":"\#(direction)"}"#)
            #expect(await swipes.next() == direction)
        }
        await scene.close()
    }

    @Test("bridgeTime: Sent when the player should change its current time (for example a seek action).")
    func bridgeTime() async throws {
        let scene = try await NotificationScene.open()
        let pipeline = try await scene.served.open()
        var times = scene.observe(Keys.bridgeTime, Keys.timecodeUserInfoKey, Int64.self)
        scene.say("player.time", #"{"timecode":1790000012000}"#)
        #expect(await times.next() == "1790000012000")
        #expect(await scene.page.hears("player.state", "state", .string("seeking")))
        pipeline.completeSeek()
        #expect(await scene.page.hears("player.time", "timecode", .integer(1_790_000_012_000)))
        await scene.close()
    }

    @Test("bridgeState: Sent when the player should update its state, for example to pause or play.")
    func bridgeState() async throws {
        let scene = try await NotificationScene.open()
        _ = try await scene.served.open()
        var states = scene.observe(Keys.bridgeState, Keys.stateUserInfoKey, String.self)
        // A player buffers and seeks by itself: these are no news for it.
        for state in ["paused", "playing", "seeking", "buffering", "stopped"] {
            scene.say("player.state", #"{"state":"\#(state)"}"#)
            #expect(await states.next() == state)
            guard ["paused", "playing", "stopped"].contains(state) else { continue }
            #expect(await scene.page.hears("player.state", "state", .string(state)))
        }
        await scene.close()
    }

    @Test("bridgeLanguage: Sent when the overlay UI has set the active language.")
    func bridgeLanguage() async throws {
        let scene = try await NotificationScene.open()
        var languages = scene.observe(Keys.bridgeLanguage) { info in
            "\(info[Keys.languageUserInfoKey] as? String ?? "") of \(info[Keys.availableUserInfoKey] as? [String] ?? [])"
        }
        scene.say("app.language", #"{"language":"nb","available":["en","nb"]}"#)
        #expect(await languages.next() == #"nb of ["en", "nb"]"#)
        await scene.close()
    }

    @Test("bridgeMessage: Sent from the overlay UI to notify about a generic message")
    func bridgeMessage() async throws {
        let scene = try await NotificationScene.open()
        var messages = scene.observe(Keys.bridgeMessage, Keys.jsonStringUserInfoKey, String.self)
        scene.say("poll.answered", #"{"answer":"home"}"#)
        let text = try #require(await messages.next())
        #expect(text.contains(#""event":"poll.answered""#) && text.contains(#"{"answer":"home"}"#), "\(text)")
        await scene.close()
    }

    @Test(
        "bridgeSpeed: Sent when the player should change its speed (playback rate). Eg. 0.5 is half speed, 1 is normal speed, 2 is 2x fast forward.",
        arguments: [0.5, 1, 2])
    func bridgeSpeed(_ speed: Float) async throws {
        let scene = try await NotificationScene.open()
        _ = try await scene.served.open()
        var speeds = scene.observe(Keys.bridgeSpeed, Keys.speedUserInfoKey, Float.self)
        var received = scene.observe(Keys.playerSpeed, Keys.speedUserInfoKey, Float.self)
        // A change is needed to be notified of one.
        if speed == 1 {
            scene.served.player.speed = 2
            #expect(await received.next() == "2.0")
        }
        scene.say("player.speed", #"{"speed":\#(speed)}"#)
        #expect(await speeds.next() == "\(speed)")
        #expect(await received.next() == "\(speed)")
        #expect(scene.served.player.speed == Double(speed))
        await scene.close()
    }

    @Test(
        "bridgeVolume: Sent when the player should change its audio volume. Eg. 0 is silent, 100 is normal volume.",
        arguments: [0, 100])
    func bridgeVolume(_ volume: Int) async throws {
        let scene = try await NotificationScene.open()
        var volumes = scene.observe(Keys.bridgeVolume, Keys.volumeUserInfoKey, Int.self)
        var received = scene.observe(Keys.playerVolume, Keys.volumeUserInfoKey, Int.self)
        scene.served.player.volume = 0.5
        #expect(await received.next() == "50")
        scene.say("player.volume", #"{"volume":\#(volume)}"#)
        #expect(await volumes.next() == "\(volume)")
        #expect(await received.next() == "\(volume)")
        #expect(scene.served.player.volume == Double(volume) / 100)
        await scene.close()
    }

    @Test(
        "bridgeMute: Sent when the player should change its audio mute status. Eg. true is muted, false is unmuted.",
        arguments: [true, false])
    func bridgeMute(_ isMuted: Bool) async throws {
        let scene = try await NotificationScene.open()
        var mutes = scene.observe(Keys.bridgeMute, Keys.muteUserInfoKey, Bool.self)
        var received = scene.observe(Keys.playerMute, Keys.muteUserInfoKey, Bool.self)
        // A change is needed to be notified of one.
        if !isMuted {
            scene.served.player.muted = true
            #expect(await received.next() == "true")
        }
        scene.say("player.mute", #"{"mute":\#(isMuted)}"#)
        #expect(await mutes.next() == "\(isMuted)")
        #expect(await received.next() == "\(isMuted)")
        #expect(await scene.page.hears("player.mute", "mute", .boolean(isMuted)))
        #expect(scene.served.player.muted == isMuted)
        await scene.close()
    }

    @Test("bridgeVideoScale: Sent when the player should change the video surface's scale and position.")
    func bridgeVideoScale() async throws {
        let scene = try await NotificationScene.open()
        var scales = scene.observeScale(Keys.bridgeVideoScale)
        scene.say(
            "player.videoscale", #"{"scaleX":0.5,"scaleY":0.75,"pivotX":1,"pivotY":0.25,"scaleDuration":300}"#)
        #expect(await scales.next() == "[0.5, 0.75, 1.0, 0.25] 300")
        await scene.close()
    }
}
