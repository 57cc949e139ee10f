import Foundation
import PCastCore
import PCastOverlay
import PCastPlayback
import Testing

extension EndToEnd {
    /// The overlay in real Chromium with real input. The frames, the audio, the page's own text and the network traffic
    /// show the results.
    @Suite(
        "An overlay", .enabled(if: ThisMachine.hasChromium && ThisMachine.hasFFmpeg), .timeLimit(.minutes(10)))
    struct OverlayTests {
        /// The page's messages, except keep-alive messages.
        private static let said = "wire.sent.filter((m) => m.event !== 'app.keepalive').map((m) => m.event)"

        @Test("a person controls the player through the page, and every observer receives every message once")
        func story() async throws {
            try await TestWorkspace.run { workspace in
                let programme = try await StampedProgramme.make(in: workspace)
                let browser = try await Browser.start(in: workspace)
                let stage = try await OverlayTestSetup(programme)
                let player = stage.player
                // The program waits for the page, which receives no metadata from before.
                player.pause()
                try await browser.open(stage.address)
                try await stage.heard(.easeLiveReady)
                player.play()
                #expect(stage.count(.bridgeReady) == 1 && stage.count(.playerReady) == 1)
                try await browser.wait(for: "document.querySelector('#state').textContent === 'Playing'")
                #expect(try await browser.evaluate("location.href.includes('token')") == .bool(false))
                try await metadata(stage, browser)
                try await time(stage, browser)
                try await stageInput(stage, browser)
                try await goingAbout(stage, browser)
                try await speed(stage, browser)
                try await audio(stage, browser)
                try await language(stage, browser)
                try await messages(stage, browser)
                try await scale(stage, browser)
                if let folder = ProcessInfo.processInfo.environment["PCAST_SCREENSHOTS"] {
                    try await browser.screenshot("\(folder)/overlay.png")
                }
                try await wire(stage, browser)
                try await ends(stage, browser, workspace)
                #expect(player.state == .idle)
                try await expectTwins(stage)
                #expect(try await browser.problems() == [])
                try await browser.end()
                await stage.close()
            }
        }

        // MARK: The chapters

        /// The stream's metadata, from a box in one of its fragments.
        private func metadata(_ stage: OverlayTestSetup, _ browser: Browser) async throws {
            guard case .playerMetadata(let text) = try await stage.heard(.playerMetadata),
                let received = JSON(line: text)
            else { return }
            #expect(received["source"].text == "emsg" && received["name"].text == "urn:score")
            try await browser.wait(for: "document.querySelector('#home-score').textContent === '1'")
        }

        /// Times arrive a few times per second, and are those of the displayed frame.
        private func time(_ stage: OverlayTestSetup, _ browser: Browser) async throws {
            // The first ones are from the pause and the beginning of playback, which are not steps of playback.
            try await browser.wait(for: "wire.received.filter((m) => m.event === 'player.time').length >= 12")
            let times = try await browser.evaluate(
                "wire.received.filter((m) => m.event === 'player.time').slice(-8).map((m) => m.metadata.timecode)")
            let numbers = times.list.compactMap(\.number)
            // A restart of the film is not a step.
            let steps = zip(numbers.dropFirst(), numbers).map { $0 - $1 }.filter { $0 > -30_000 }
            // The steps are a quarter of a second of the program. A busy machine makes them longer.
            #expect(steps.allSatisfy { $0 >= 150 } && steps.sorted()[steps.count / 2] <= 600, "\(steps)")
            let count = stage.classic.values.count
            stage.player.pause()
            try await stage.heard(.playerState, after: count) { $0 == .playerState(.paused) }
            await stage.player.settled()
            try await browser.wait(for: "document.querySelector('#state').textContent === 'Paused'")
            try await expectFrame(stage, browser)
            let first = StampedProgramme.began.millisecondsSinceEpoch
            let range = try await browser.evaluate(
                "(({ initialTimecode, maxTimecode }) => [initialTimecode, maxTimecode])"
                    + "(wire.received.findLast((m) => m.event === 'player.time').metadata)")
            #expect(range[0].number == Double(first) && abs((range[1].number ?? 0) - Double(first) - 60_000) < 200)
        }

        /// Expects that the page shows the time of the displayed frame.
        private func expectFrame(_ stage: OverlayTestSetup, _ browser: Browser) async throws {
            let period = 1_000 / StampedProgramme.rate
            let shown = StampedProgramme.began.millisecondsSinceEpoch + Int64(stage.stamp * period)
            try await browser.wait(
                for: "Math.abs(document.querySelector('#clock').dataset.timecode - \(shown)) <= \(period + 10)")
        }

        /// Clicks and swipes on the stage.
        private func stageInput(_ stage: OverlayTestSetup, _ browser: Browser) async throws {
            try await browser.drag(from: (600, 300), to: (600, 300))
            try await stage.heard(.bridgeStage) { $0 == .bridgeStage(.hidden) }
            try await stage.heard(.playerStage) { $0 == .playerStage(.hidden) }
            try await browser.wait(
                for: "!document.querySelector('#play').checkVisibility({ visibilityProperty: true })")
            try await browser.drag(from: (600, 300), to: (600, 300))
            try await stage.heard(.playerStage) { $0 == .playerStage(.visible) }
            try await browser.drag(from: (700, 300), to: (400, 310))
            try await stage.heard(.bridgeStageSwipe) { $0 == .bridgeStageSwipe(.left) }
        }

        /// Seeks by an event of the program and by the bar, after which playback continues.
        private func goingAbout(_ stage: OverlayTestSetup, _ browser: Browser) async throws {
            let goal = StampedProgramme.began.millisecondsSinceEpoch + 12_000
            stage.center.post(
                name: OverlayNotificationKeys.appMessage, object: nil,
                userInfo: [
                    OverlayNotificationKeys.jsonStringUserInfoKey:
                        #"{"event":"timeline.added","metadata":{"id":"g1","kind":"goal","title":"2–1 Ada","team":"home","#
                        + #""home":2,"away":1,"at":\#(goal)}}"#
                ])
            try await browser.wait(for: "document.querySelectorAll('#event-list button').length === 1")
            #expect(try await browser.text("#event-list b") == "2–1 Ada")
            #expect(try await browser.text("#home-score") == "2")
            try await browser.click("#event-list button")
            try await stage.heard(.bridgeTime) { $0 == .bridgeTime(goal) }
            let screen = stage.screen
            _ = await screen.sights.first { abs(Int($0.stamp.counter) - OverlayTestSetup.stamp(at: goal)) <= 1 }
            try await browser.wait(for: "Math.abs(document.querySelector('#clock').dataset.timecode - \(goal)) <= 60")
            await stage.player.settled()
            try await expectFrame(stage, browser)

            try await browser.slide("#seek", to: 0.5)
            try await stage.heard(.bridgeTime) { message in
                if case .bridgeTime(let time) = message { abs(time - goal - 18_000) < 1_500 } else { false }
            }
            _ = await screen.sights.first { abs(Int($0.stamp.counter) - 30 * StampedProgramme.rate) <= 30 }

            let count = stage.classic.values.count
            try await browser.click("#play")
            try await stage.heard(.bridgeState, after: count) { $0 == .bridgeState(.playing) }
            try await stage.heard(.playerState, after: count) { $0 == .playerState(.playing) }
            try await browser.wait(for: "document.body.dataset.state === 'playing'")
        }

        /// Plays at double and half speed, measured by the numbers of the frames.
        private func speed(_ stage: OverlayTestSetup, _ browser: Browser) async throws {
            // Each speed is reported before the next one is selected. Otherwise the report would reset the page.
            func choose(_ key: String, _ speed: Double) async throws {
                let count = stage.classic.values.count
                try await browser.press(key, in: "#speed")
                try await stage.heard(.bridgeSpeed, after: count) { $0 == .bridgeSpeed(speed) }
                try await stage.heard(.playerSpeed, after: count) { $0 == .playerSpeed(speed) }
                try await browser.wait(
                    for: "wire.received.findLast((m) => m.event === 'player.speed').metadata.speed === \(speed)")
            }
            try await choose("ArrowDown", 1.5)
            try await choose("ArrowDown", 2)
            let fast = await Self.measuredRate(stage, frames: 40)
            #expect((1.4...2.8).contains(fast), "\(fast)")
            for speed in [1.5, 1, 0.5] { try await choose("ArrowUp", speed) }
            let slow = await Self.measuredRate(stage, frames: 20)
            #expect((0.3...0.7).contains(slow), "\(slow)")
            #expect(try await browser.evaluate("document.querySelector('#speed').value").text == "0.5")
        }

        /// Returns the median of the playback rates that are measured between each frame and the seventh after it, so
        /// that a stall does not count. The first frames were on their way already.
        private static func measuredRate(_ stage: OverlayTestSetup, frames: Int) async -> Double {
            let sights = stage.screen.sights
            let start = sights.values.count
            _ = await sights.first { _ in sights.values.count > start + frames + 2 }
            let seen = Array(sights.values.dropFirst(start + 2).prefix(frames))
            let rates = zip(seen, seen.dropFirst(7)).map { first, last in
                let passed = Double(Int(last.stamp.counter) - Int(first.stamp.counter)) / Double(StampedProgramme.rate)
                return passed / max((last.shown - first.shown).seconds, 0.001)
            }
            return rates.isEmpty ? 0 : rates.sorted()[rates.count / 2]
        }

        /// Sets half the volume and mutes, measured by the audio.
        private func audio(_ stage: OverlayTestSetup, _ browser: Browser) async throws {
            let tone = stage.tone
            func measureSettled() async throws -> Double {
                let (count, sights) = (tone.frames, stage.screen.sights)
                _ = await sights.first { _ in tone.frames > count + 3 }
                return tone.level
            }
            let full = try await measureSettled()
            #expect(full > 0.01)
            try await browser.slide("#volume", to: 0.5)
            try await stage.heard(.playerVolume) { message in
                if case .playerVolume(let volume) = message { (40...60).contains(volume) } else { false }
            }
            let half = try await measureSettled()
            #expect((0.35...0.65).contains(half / full), "\(half) of \(full)")
            try await browser.click("#mute")
            try await stage.heard(.bridgeMute) { $0 == .bridgeMute(true) }
            try await stage.heard(.playerMute) { $0 == .playerMute(true) }
            #expect(try await measureSettled() == 0)
            try await browser.click("#mute")
            try await stage.heard(.playerMute) { $0 == .playerMute(false) }
            #expect(try await measureSettled() > 0)
        }

        /// Changes the language by the application and by a person.
        private func language(_ stage: OverlayTestSetup, _ browser: Browser) async throws {
            stage.center.post(OverlayNotification(.appLanguage("de")), subject: stage.overlay)
            try await browser.wait(for: "document.querySelector('#state').textContent === 'Läuft'")
            try await stage.heard(.bridgeLanguage) { $0 == .bridgeLanguage("de", available: ["en", "de", "es"]) }
            try await stage.heard(.appLanguage)
            #expect(stage.count(.bridgeLanguage) == 1 && stage.count(.appLanguage) == 1)
            try await browser.press("ArrowDown", in: "#language")
            try await stage.heard(.bridgeLanguage) { $0 == .bridgeLanguage("es", available: ["en", "de", "es"]) }
            #expect(try await browser.text("#events-title") == "Eventos")
        }

        /// Sends messages in both directions.
        private func messages(_ stage: OverlayTestSetup, _ browser: Browser) async throws {
            stage.overlay.post(.appMessage(#"{"text":"Half time in two minutes"}"#))
            try await browser.wait(for: "document.querySelector('#message').textContent === 'Half time in two minutes'")
            try await browser.evaluate(
                #"WebViewBridge.send('{"event":"poll.vote","metadata":{"choice":3}}')"#)
            guard case .bridgeMessage(let text) = try await stage.heard(.bridgeMessage) else {
                Issue.record("the notification is not a message of a page")
                return
            }
            #expect(JSON(line: text)?["metadata"]["choice"].number == 3)
        }

        /// Scales the video, checked by the displayed frames.
        private func scale(_ stage: OverlayTestSetup, _ browser: Browser) async throws {
            try await browser.click("#squeeze")
            let wanted = VideoScale(scaleX: 0.7, scaleY: 0.7, pivotX: 0, pivotY: 0, duration: 300)
            try await stage.heard(.bridgeVideoScale) { $0 == .bridgeVideoScale(wanted) }
            try await stage.heard(.playerVideoScale) { $0 == .playerVideoScale(wanted) }
            #expect(await stage.frames.first { $0.isNear(0, 0, 224, 126) } != nil)
            try await browser.wait(for: "document.querySelector('#squeeze').ariaPressed === 'true'")

            // From there it moves to the other corner without turning back. It moves so slowly at first that a busy machine
            // shows intermediate values too, and then faster.
            let before = stage.frames.values.count
            for duration in [30_000, 300] {
                let corner = VideoScale(scaleX: 0.5, scaleY: 0.5, pivotX: 1, pivotY: 0, duration: duration)
                try await browser.evaluate(
                    #"WebViewBridge.send('{"event":"player.videoscale","metadata":{"scaleX":0.5,"scaleY":0.5,"pivotX":1,"#
                        + #""pivotY":0,"scaleDuration":\#(duration)}}')"#)
                try await stage.heard(.bridgeVideoScale) { $0 == .bridgeVideoScale(corner) }
                try await stage.heard(.playerVideoScale) { $0 == .playerVideoScale(corner) }
                #expect(await stage.frames.first { (4...152).contains($0.left) } != nil)
            }
            #expect(await stage.frames.first { $0.isNear(160, 0, 160, 90) } != nil)
            let way = stage.frames.values.dropFirst(before)
            let steps = zip(way, way.dropFirst())
            #expect(steps.allSatisfy { $1.left >= $0.left - 2 && $1.width <= $0.width + 2 }, "\(way)")
        }

        /// Expects that there was no message without a cause.
        private func wire(_ stage: OverlayTestSetup, _ browser: Browser) async throws {
            let said = try await browser.evaluate(Self.said).list.compactMap(\.text)
            let expected = [
                "bridge.ready", "app.ready", "stage.clicked", "stage.clicked", "stage.swipe", "player.time",
                "player.time", "player.state",
            ]
            #expect(Array(said.prefix(expected.count)) == expected)
            for (event, count) in [
                ("player.speed", 5), ("player.mute", 2), ("app.language", 2), ("poll.vote", 1),
                ("player.videoscale", 3),
                ("player.time", 2), ("player.state", 1),
            ] { #expect(said.count { $0 == event } == count, "\(event) in \(said)") }
            // A pressed slider may send its value once, or twice when it is released.
            let volumes = said.count { $0 == "player.volume" }
            #expect((1...2).contains(volumes) && said.count == expected.count + 13 + volumes, "\(said)")
            let sequence = try await browser.evaluate(
                "wire.received.every((m, index) => m.seq === index + 1 && m.v === 1)")
            #expect(sequence == .bool(true))
        }

        /// Sets the status through the producer's endpoint, and plays unplayable media.
        private func ends(_ stage: OverlayTestSetup, _ browser: Browser, _ workspace: TestWorkspace) async throws {
            let (endpoint, token) = ("\(stage.origin)/program/final/status", stage.overlay.controllerToken)
            #expect(try await browser.put("hidden", to: endpoint, token: "wrong") == 401)
            #expect(try await browser.put("hidden", to: endpoint, token: token) == 204)
            try await stage.heard(.bridgeAppStatus) { $0 == .bridgeAppStatus(.hidden) }
            try await browser.wait(for: "!document.querySelector('#score').checkVisibility()")
            #expect(try await browser.put("enabled", to: endpoint, token: token) == 204)
            try await browser.wait(for: "document.querySelector('#score').checkVisibility()")
            stage.player.set(video: Video(workspace.path("nothing.mp4")), play: true)
            try await stage.heard(.playerError)
            try await stage.heard(.easeLiveError)
            try await stage.heard(.playerState) { $0 == .playerState(.stopped) }
            #expect(stage.overlay.phase == .ready, "a warning does not close the overlay")
        }

        /// Expects that observers of both kinds received the same messages in the same order, and all 26 kinds.
        private func expectTwins(_ stage: OverlayTestSetup) async throws {
            let names = Set(stage.classic.values.map(\.name))
            let missing = OverlayMessage.Name.allCases.filter { !names.contains($0) }
            #expect(missing == [])
            let (classic, typed) = (stage.classic, stage.typed)
            // Typed messages reach the classic observers a moment later, and vice versa.
            _ = await typed.first { _ in typed.values.count >= classic.values.count }
            _ = await classic.first { _ in classic.values.count >= typed.values.count }
            func bag(_ messages: [OverlayMessage]) -> [OverlayMessage: Int] {
                messages.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            }
            #expect(bag(classic.values) == bag(typed.values))
        }
    }
}
