import Foundation
import PCastCore
import PCastOverlay
import PCastPlayback
import Testing

extension EndToEnd {
    /// Pages that crash, return, watch without a token, or send invalid messages.
    @Suite(
        "Pages of an overlay", .enabled(if: ThisMachine.hasChromium && ThisMachine.hasFFmpeg), .timeLimit(.minutes(10)))
    struct OverlayPageTests {
        @Test("the player continues whatever pages do, and a returning page receives the state")
        func story() async throws {
            try await TestWorkspace.run { workspace in
                let programme = try await StampedProgramme.make(in: workspace)
                let stage = try await OverlayTestSetup(programme)
                let (player, browser) = (stage.player, try await Browser.start(in: workspace))
                try await browser.open(stage.address)
                try await stage.heard(.easeLiveReady)
                player.volume = 0.4
                try await stage.heard(.playerVolume)
                let received = stage.classic.values.count
                // Another player without an overlay shows what the machine is capable of at this time.
                let (other, otherScreen) = Self.lonePlayer(of: programme)
                _ = await otherScreen.sights.first()
                let (shown, otherShown) = (stage.screen.sights.values.count, otherScreen.sights.values.count)

                try await pageCrash(stage, browser)
                try await observer(stage, browser)
                try await lies(stage, browser)

                let frames = stage.screen.sights
                _ = await frames.first { _ in frames.values.count > shown + 60 }
                // Meanwhile the player received no command, and only played.
                let since = stage.classic.values.dropFirst(received)
                #expect(!since.contains { $0.isCommand }, "\(since.filter(\.isCommand))")
                let gap = Self.longestGap(stage.screen, after: shown)
                let otherGap = Self.longestGap(otherScreen, after: otherShown)
                #expect(
                    gap <= otherGap + StampedProgramme.rate / 2, "\(gap) frames, and \(otherGap) without an overlay")
                other.reset()
                await other.settled()

                let endpoint = "\(stage.origin)/program/final/status"
                #expect(try await browser.put("disabled", to: endpoint, token: stage.overlay.controllerToken) == 204)
                try await browser.wait(for: "wire.closed?.code === 4001")
                try await browser.wait(
                    for: "document.querySelector('#state').textContent === 'This overlay has ended.'")
                try await browser.wait(for: "wire.closed?.code === 4001", at: "onlooker")
                await stage.overlay.settled()
                #expect(stage.overlay.phase == .destroyed && stage.overlay.status == .disabled)
                let answer = try await browser.evaluate("fetch(location.href).then((answer) => answer.status)")
                #expect(answer.number == 404 && player.state.continues)
                try await browser.end()
                await stage.close()
            }
        }

        private static func lonePlayer(of programme: StampedProgramme) -> (Player, StampScreen) {
            let screen = StampScreen()
            let player = Player(.media(playsAudio: false, shownOn: screen))
            player.loop = true
            player.set(video: Video(programme.address), play: true)
            return (player, screen)
        }

        /// Returns the longest step between displayed frames, in frames. A restart of the film is not a gap.
        private static func longestGap(_ screen: StampScreen, after count: Int) -> Int {
            let stamps = screen.sights.values.dropFirst(count).map { Int($0.stamp.counter) }
            return zip(stamps.dropFirst(), stamps).map { $0 - $1 }.max() ?? .max
        }

        /// Kills the page's process and loads the page again.
        private func pageCrash(_ stage: OverlayTestSetup, _ browser: Browser) async throws {
            let count = stage.classic.values.count
            try await browser.crash()
            let overlay = stage.overlay
            _ = await stage.screen.sights.first { _ in overlay.phase != .ready }
            #expect(stage.overlay.phase == .loading && stage.overlay.pageCount == 0)
            try await browser.open(stage.viewerAddress)
            // The tab keeps its token over a reload.
            try await stage.heard(.easeLiveReady, after: count)
            try await browser.wait(for: "document.querySelector('#volume').value === '40'")
            try await browser.wait(
                for: "['player.volume', 'player.mute', 'player.speed'].every("
                    + "(name) => wire.received.some((m) => m.event === name))")
            let replayed = try await browser.evaluate("wire.received.map((m) => m.event)").list.compactMap(\.text)
            #expect(
                replayed.starts(with: ["bridge.welcome", "app.status", "player.ready", "player.state", "player.time"]))
            #expect(Set(replayed).isSuperset(of: ["player.volume", "player.mute", "player.speed"]))
        }

        /// Opens a second page without a token.
        private func observer(_ stage: OverlayTestSetup, _ browser: Browser) async throws {
            try await browser.open(stage.viewerAddress, at: "onlooker")
            try await browser.wait(
                for: "document.querySelector('#state').textContent.includes('Watching only')", at: "onlooker")
            try await browser.wait(for: "document.querySelector('#clock').dataset.timecode !== ''", at: "onlooker")
            #expect(try await browser.text("#play", at: "onlooker") == "")
            let count = stage.classic.values.count
            try await browser.evaluate(
                #"WebViewBridge.send('{"event":"player.state","metadata":{"state":"paused"}}')"#, at: "onlooker")
            try await browser.wait(for: "wire.received.some((m) => m.event === 'bridge.error')", at: "onlooker")
            guard case .easeLiveError(let error) = try await stage.heard(.easeLiveError, after: count) else {
                Issue.record("the notification is not an error")
                return
            }
            #expect(error.level == .warning && error.component == .bridgeConnectivity)
            // An invalid token is rejected.
            let code = try await browser.evaluate(
                "new Promise((done) => { new WebSocket(location.origin.replace('http', 'ws') + '/bridge/final?token=abc')"
                    + ".onclose = ({ code }) => done(code); })", at: "onlooker")
            #expect(code.number == 4_008)
        }

        /// Sends invalid messages, and ten megabytes.
        private func lies(_ stage: OverlayTestSetup, _ browser: Browser) async throws {
            let open =
                "new Promise((done) => { const socket = new WebSocket(location.origin.replace('http', 'ws') + '/bridge/final');"
                + "socket.onclose = ({ code }) => done(code); socket.onopen = () => { "
            let malformed = try await browser.evaluate(
                open + "for (let n = 0; n < 20; n++) { socket.send('{'); socket.send(new Uint8Array(9)); } }; })",
                at: "onlooker")
            #expect(malformed.number == 4_005)
            let large = try await browser.evaluate(
                open + "socket.send('a'.repeat(10_000_000)); }; })", at: "onlooker")
            #expect(large.number == 1_009 || large.number == 1_006)
            let flood = try await browser.evaluate(
                open + "for (let n = 0; n < 1000; n++) socket.send(JSON.stringify({ v: 1, event: 'app.keepalive', "
                    + "metadata: {}, seq: n, epoch: 0 })); }; })", at: "onlooker")
            #expect(flood.number == 4_004)
            // A page with a controller token is not trusted either: twenty invalid requests have no effect.
            let steering = open.replacing("final'", with: "final?token=\(stage.overlay.controllerToken)'")
            let strange = try await browser.evaluate(
                steering
                    + "for (let n = 0; n < 20; n++) socket.send(JSON.stringify({ v: 1, event: 'player.videoscale', "
                    + "metadata: { scaleX: 9, scaleY: -1, pivotX: '', pivotY: null, scaleDuration: 1e300 }, seq: n, "
                    + "epoch: 0 })); }; })", at: "onlooker")
            #expect(strange.number == 4_005)
            #expect(stage.overlay.phase == .ready && stage.player.state.continues)
            try await browser.wait(for: "document.body.dataset.state === 'playing'")
        }

        @Test("a page that hangs causes a warning and then the end of the overlay, and the player continues")
        func silence() async throws {
            try await TestWorkspace.run { workspace in
                let browser = try await Browser.start(in: workspace)
                let configuration = OverlayCore.Configuration(
                    warning: .seconds(2 as Int64), fatal: .seconds(8 as Int64), expectsPages: false,
                    keepAlive: .milliseconds(250))
                let stage = try await OverlayTestSetup(
                    try await StampedProgramme.make(in: workspace), configuration: configuration)
                try await browser.open(stage.address)
                try await stage.heard(.easeLiveReady)
                let count = stage.classic.values.count
                try await browser.evaluate("setTimeout(() => { for (;;); }, 0)")
                try await stage.heard(.easeLiveError, after: count) { message in
                    if case .easeLiveError(let error) = message { error.level == .fatal } else { false }
                }
                await stage.overlay.settled()
                // A page that was stalled before may have caused a warning already.
                let errors = stage.classic.values.compactMap { message in
                    if case .easeLiveError(let error) = message { error } else { nil }
                }
                #expect(errors.count >= 2 && errors.last?.level == .fatal)
                #expect(errors.dropLast().allSatisfy { $0.level == .warning })
                #expect(errors.allSatisfy { $0.component == .bridgeConnectivity })
                #expect(stage.overlay.phase == .destroyed && stage.overlay.status == .enabled)
                try await stage.seen("another frame") { _ in true }
                #expect(stage.player.state.continues)
                try await browser.crash()
                try await browser.end()
                await stage.close()
            }
        }
    }
}
