import Foundation
import PCastOverlay
import PCastPlayback
import Testing

extension EndToEnd {
    /// Each of the 26 notifications with its real cause: the player, a page in Chromium with real input, the
    /// application, and a second page.
    @Suite(
        "The notifications of an overlay", .enabled(if: ThisMachine.hasChromium && ThisMachine.hasFFmpeg),
        .timeLimit(.minutes(10)))
    struct OverlayRollCallTests {
        @Test("each notification arrives once at each kind of observer, and none is echoed to the page")
        func allNotifications() async throws {
            try await TestWorkspace.run { workspace in
                let browser = try await Browser.start(in: workspace)
                let stage = try await OverlayTestSetup(try await StampedProgramme.make(in: workspace))
                let roll = OverlayRollCall(stage.audience, of: stage.overlay, browser)
                try await Self.player(stage, roll)
                try await Self.page(stage, roll, browser)
                try await Self.requests(stage, roll, browser)
                try await Self.application(stage, roll, browser)
                try await Self.secondScreen(stage, roll, browser)
                try await Self.errors(stage, roll, browser, workspace)
                #expect(OverlayMessage.Name.allCases.filter { !roll.present.contains($0) } == [])
                // Both kinds of observers received the same times, and none twice in a row.
                let heard = stage.audience.heard(since: .init(classic: 0, typed: 0)).map { heard in
                    heard.messages.filter { $0.name == .playerTime }
                }
                #expect(heard[0] == heard[1] && zip(heard[0], heard[0].dropFirst()).allSatisfy { $0 != $1 })
                #expect(try await browser.problems() == [])
                try await browser.end()
                await stage.close()
            }
        }

        /// Checks the player alone, before there is a page. It is paused afterwards, so that all later messages have a
        /// cause.
        private static func player(_ stage: OverlayTestSetup, _ roll: OverlayRollCall) async throws {
            let start = OverlayListeners.Mark(classic: 0, typed: 0)
            let wanted: Set<OverlayMessage.Name> = [.playerReady, .playerMetadata, .playerTime, .playerState]
            try await stage.audience.wait(for: "the player", since: start) {
                Set($0.map(\.name)).isSuperset(of: wanted)
            }
            let mark = stage.audience.mark
            stage.player.pause()
            try await stage.audience.wait(for: "its pause", since: mark) { $0.contains(.playerState(.paused)) }
            await stage.player.settled()
            await stage.overlay.settled()
            roll.expectOnce([.playerReady, .playerMetadata], since: start)
            roll.expectOnce(.playerState(.paused), since: mark)
            roll.expectTimes(since: start)
            // A volume that is already set causes no message.
            #expect(!stage.classic.values.contains { $0.name == .playerVolume })
        }

        /// A page connects and receives the current state.
        private static func page(_ stage: OverlayTestSetup, _ roll: OverlayRollCall, _ browser: Browser) async throws {
            // A page that has not announced that it listens receives nothing before its welcome.
            let silent = "window.silent = new WebSocket(location.origin.replace('http', 'ws') + '/bridge/final')"
            try await roll.call(
                "a page", hears: [.bridgeReady, .easeLiveReady], sent: ["bridge.ready", "app.ready"],
                received: [
                    "bridge.welcome", "app.status", "player.ready", "player.state", "player.volume", "player.mute",
                    "player.speed",
                ]
            ) { try await browser.open(stage.address) }
            try await browser.evaluate(
                "new Promise((done) => { \(silent); silent.heard = []; silent.onopen = () => done(true);"
                    + "silent.onmessage = ({ data }) => silent.heard.push(JSON.parse(data)); })")
            try await roll.call(
                "a click on the stage", hears: [.bridgeStage, .playerStage], sent: ["stage.clicked"],
                received: ["player.controls"]
            ) { try await browser.drag(from: (600, 300), to: (600, 300)) }
            try await browser.evaluate(
                "silent.send(JSON.stringify({ v: 1, event: 'bridge.ready', metadata: {}, seq: 1, epoch: 0 }))")
            try await browser.wait(for: "silent.heard.length > 3")
            let first = try await browser.evaluate("[silent.heard[0].event, silent.heard[0].seq]")
            #expect(first[0].text == "bridge.welcome" && first[1].number == 1)
            try await browser.evaluate(
                "new Promise((done) => { silent.onclose = () => done(true); silent.close(); })")
            // The page also recorded the messages of the other connection.
            try await browser.evaluate("wire.sent.length = wire.received.length = 0")
            try await roll.call(
                "another click", hears: [.bridgeStage, .playerStage], sent: ["stage.clicked"],
                received: ["player.controls"]
            ) { try await browser.drag(from: (600, 300), to: (600, 300)) }
            try await roll.call("a swipe", hears: [.bridgeStageSwipe], sent: ["stage.swipe"]) {
                try await browser.drag(from: (700, 300), to: (400, 310))
            }
        }

        /// A person's requests through the page, while the player is paused.
        private static func requests(
            _ stage: OverlayTestSetup, _ roll: OverlayRollCall, _ browser: Browser
        ) async throws {
            let (overlay, player) = (stage.overlay, stage.player)
            try await roll.call(
                "a step ahead", hears: [.bridgeTime, .playerVolume], sent: ["player.time"],
                received: ["player.volume"], passing: [.playerState]
            ) {
                let mark = stage.audience.mark
                try await browser.click("#ahead")
                try await stage.audience.wait(for: "a seek", since: mark) { $0.contains { $0.name == .bridgeTime } }
                await overlay.settled()
                while player.overlayState == .seeking, !Task.isCancelled { await player.settled() }
                // The player's next message follows all messages of the seek.
                player.volume = 0.9
            }
            try await roll.call(
                "a speed", hears: [.bridgeSpeed, .playerSpeed], sent: ["player.speed"], received: ["player.speed"]
            ) { try await browser.press("ArrowDown", in: "#speed") }
            try await roll.call(
                "a volume", hears: [.bridgeVolume, .playerVolume], sent: ["player.volume"], received: ["player.volume"]
            ) { try await browser.press("ArrowLeft", in: "#volume") }
            try await roll.call(
                "silence", hears: [.bridgeMute, .playerMute], sent: ["player.mute"], received: ["player.mute"]
            ) { try await browser.click("#mute") }
            try await roll.call(
                "a smaller frame", hears: [.bridgeVideoScale, .playerVideoScale], sent: ["player.videoscale"],
                received: ["player.videoscale"]
            ) { try await browser.click("#squeeze") }
            try await roll.call(
                "a language", hears: [.bridgeLanguage], sent: ["app.language"]
            ) { try await browser.press("ArrowDown", in: "#language") }
            try await roll.call("a message", hears: [.bridgeMessage], sent: ["poll.vote"]) {
                try await browser.evaluate(#"WebViewBridge.send('{"event":"poll.vote","metadata":{"choice":3}}')"#)
            }
            try await roll.call("play", hears: [.bridgeState], sent: ["player.state"], passing: [.playerState]) {
                try await browser.click("#play")
                try await browser.wait(for: "document.body.dataset.state === 'playing'")
            }
            // The player may wait for media before it is paused.
            let mark = roll.audience.mark
            try await roll.call("pause", hears: [.bridgeState], sent: ["player.state"], passing: [.playerState]) {
                try await browser.evaluate(
                    #"WebViewBridge.send('{"event":"player.state","metadata":{"state":"paused"}}')"#)
                try await browser.wait(for: "document.body.dataset.state === 'paused'")
            }
            roll.expectOnce(.playerState(.paused), since: mark)
        }

        /// Messages of the application in each way of posting, and the producer's message.
        private static func application(
            _ stage: OverlayTestSetup, _ roll: OverlayRollCall, _ browser: Browser
        ) async throws {
            try await roll.call("a message, classic", hears: [.appMessage], received: ["poll.opened"]) {
                stage.center.post(
                    name: OverlayNotificationKeys.appMessage, object: nil,
                    userInfo: [OverlayNotificationKeys.jsonStringUserInfoKey: #"{"event":"poll.opened"}"#])
            }
            try await roll.call(
                "a language, by types", hears: [.appLanguage, .bridgeLanguage], sent: ["app.language"],
                received: ["app.language"]
            ) { stage.center.post(OverlayNotification(.appLanguage("en")), subject: stage.overlay) }
            try await roll.call(
                "a volume, in the player", hears: [.playerVolume], received: ["player.volume"]
            ) { stage.player.volume = 0.7 }
            try await roll.call("hidden", hears: [.bridgeAppStatus], received: ["app.status"]) {
                let endpoint = "\(stage.origin)/program/final/status"
                let status = try await browser.put("hidden", to: endpoint, token: stage.overlay.controllerToken)
                #expect(status == 204)
            }
            try await roll.call("enabled, by the page", hears: [.bridgeAppStatus], sent: ["app.status"]) {
                try await browser.evaluate(
                    #"WebViewBridge.send('{"event":"app.status","metadata":{"status":"enabled"}}')"#)
            }
        }

        /// Checks a page of a second screen: its requests are performed by the first one's player, and received at
        /// both.
        private static func secondScreen(
            _ stage: OverlayTestSetup, _ roll: OverlayRollCall, _ browser: Browser
        ) async throws {
            let audience = await OverlayListeners()
            let bridge = "\(stage.origin.replacing("http", with: "ws"))/bridge/final"
            let screen = try Overlay(
                program: "screen",
                player: SecondScreenPlayerPlugin("\(bridge)?token=\(stage.overlay.controllerToken)"),
                center: audience.center)
            let opened = Awaited<Int>()
            let site = OverlayBridge([screen])
            let serving = Task { try await site.run { opened.add($0) } }
            let port = try #require(await opened.first())
            let start = audience.mark
            screen.load()
            let received: [OverlayMessage.Name] = [
                .playerReady, .playerState, .playerTime, .playerVolume, .playerMute, .playerSpeed, .playerVideoScale,
                .playerStage,
            ]
            try await audience.wait(for: "the first screen", since: start) {
                Set($0.map(\.name)).isSuperset(of: received)
            }
            let second = OverlayRollCall(audience, of: screen, browser, page: "screen")
            second.expectOnce(received, since: start)
            try await second.call(
                "a page of the second screen", hears: [.bridgeReady, .easeLiveReady],
                sent: ["bridge.ready", "app.ready"],
                received: [
                    "bridge.welcome", "app.status", "player.ready", "player.state", "player.volume", "player.mute",
                    "player.speed", "player.videoscale", "player.controls",
                ]
            ) { try await browser.open(site.address(of: screen, port: port), at: "screen") }
            try await roll.call(
                "audio again, by the second screen", hears: [.bridgeMute, .playerMute], received: ["player.mute"]
            ) {
                try await second.call(
                    "audio again", hears: [.bridgeMute, .playerMute], sent: ["player.mute"], received: ["player.mute"]
                ) { try await browser.click("#mute", at: "screen") }
            }
            #expect(!stage.player.muted)
            screen.destroy()
            await screen.settled()
            serving.cancel()
            _ = try? await serving.value
            await audience.close()
        }

        private static func errors(
            _ stage: OverlayTestSetup, _ roll: OverlayRollCall, _ browser: Browser, _ workspace: TestWorkspace
        ) async throws {
            try await roll.call(
                "an error of the page", hears: [.easeLiveError], sent: ["app.error"], received: ["easelive.error"]
            ) {
                try await browser.evaluate(
                    #"WebViewBridge.send('{"event":"app.error","metadata":{"type":"warning","message":"late"}}')"#)
            }
            try await roll.call(
                "what cannot be played", hears: [.playerError, .easeLiveError], received: ["easelive.error"],
                passing: [.playerState]
            ) { stage.player.set(video: Video(workspace.path("nothing.mp4")), play: true) }
        }
    }
}
