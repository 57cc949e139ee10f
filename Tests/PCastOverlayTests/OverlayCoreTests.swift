import PCastCore
import PCastJSON
import Testing

@testable import PCastOverlay

/// An overlay on a time that the test advances.
private struct Stage {
    var core: OverlayCore
    var now = Instant(nanoseconds: 1)
    private var sequence: Int64 = 0

    init(_ configuration: OverlayCore.Configuration = OverlayCore.Configuration()) { core = OverlayCore(configuration) }

    private mutating func drain() -> [OverlayCore.Output] {
        var outputs: [OverlayCore.Output] = []
        while let output = core.poll() { outputs.append(output) }
        return outputs
    }

    /// Handles an input and returns its outputs, without wakings of the pages.
    @discardableResult
    mutating func handle(_ input: OverlayCore.Input) -> [OverlayCore.Output] {
        core.handle(input, at: now)
        return drain().filter { if case .wake = $0 { false } else { true } }
    }

    /// Advances the time by each deadline.
    mutating func run(_ span: TimeSpan) -> [OverlayCore.Output] {
        let end = now + span
        var outputs: [OverlayCore.Output] = []
        while let deadline = core.deadline, deadline <= end {
            now = max(deadline, now)
            core.advance(to: now)
            outputs += drain().filter { if case .wake = $0 { false } else { true } }
        }
        now = end
        core.advance(to: now)
        return outputs + drain().filter { if case .wake = $0 { false } else { true } }
    }

    @discardableResult
    mutating func post(_ message: OverlayMessage) -> [OverlayCore.Output] {
        handle(.post(message, isPublished: false))
    }

    @discardableResult
    mutating func say(
        _ event: String, _ metadata: JSONObject = [:], epoch: Int64 = 0, from page: Int
    ) -> [OverlayCore.Output] {
        sequence += 1
        let envelope = OverlayEnvelope(event, metadata, sequence: sequence, epoch: epoch)
        return handle(.pageMessage(.init(number: page), envelope.text))
    }

    /// Opens a page that listens and has loaded.
    mutating func attach(_ page: Int, isController: Bool = true) {
        handle(.pageOpened(.init(number: page), isController: isController))
        say("bridge.ready", from: page)
        say("app.ready", from: page)
        _ = take(page)
    }

    /// Takes the messages for a page, each with its event name and its text.
    mutating func take(_ page: Int) -> [(event: String, text: String)] {
        var taken: [(String, String)] = []
        while let outgoing = core.takeOutgoing(for: .init(number: page)) {
            switch outgoing {
            case .text(let text): taken.append(((try? OverlayEnvelope(text: text).event) ?? "?", text))
            case .close(let closing):
                taken.append(("close", closing.reason))
                return taken
            }
        }
        return taken
    }
}

@Suite("The decisions of an overlay")
struct OverlayCoreTests {
    private static func notified(_ outputs: [OverlayCore.Output]) -> [OverlayMessage] {
        outputs.compactMap { if case .notify(let message, _) = $0 { message } else { nil } }
    }

    private static func commands(_ outputs: [OverlayCore.Output]) -> [OverlayMessage] {
        outputs.compactMap { if case .command(let message) = $0 { message } else { nil } }
    }

    @Test("an overlay is created, loaded, paused, loaded again and destroyed, and accepts pages while loaded")
    func life() {
        var stage = Stage()
        #expect(stage.handle(.create) == [.created] && stage.handle(.create) == [])
        stage.handle(.pageOpened(.init(number: 1), isController: true))
        #expect(stage.take(1).map(\.text) == [OverlayClosing.notLoaded.reason])
        #expect(stage.handle(.load) == [.loaded] && stage.core.phase == .loading && stage.handle(.load) == [])
        stage.attach(2)
        #expect(stage.handle(.pause) == [.paused] && stage.handle(.pause) == [])
        stage.post(.playerVolume(30))
        #expect(Self.commands(stage.say("player.mute", ["mute": .boolean(true)], from: 2)) == [])
        #expect(stage.take(2).map(\.event) == ["bridge.error"])
        #expect(stage.handle(.load) == [.loaded])
        #expect(stage.take(2).map(\.event) == ["app.status", "player.volume"])
        #expect(stage.handle(.destroy) == [.destroyed] && stage.handle(.destroy) == [] && stage.handle(.load) == [])
        #expect(stage.take(2).map(\.text) == [OverlayClosing.destroyed.reason])
        #expect(stage.core.isOver && stage.core.deadline == nil && stage.post(.playerMute(true)) == [])
    }

    @Test(
        "it is ready when the player is, and a page that steers listens and has loaded; again after the page came back")
    func readiness() {
        var stage = Stage()
        stage.handle(.load)
        stage.handle(.pageOpened(.init(number: 1), isController: true))
        #expect(Self.notified(stage.say("bridge.ready", from: 1)) == [.bridgeReady])
        #expect(Self.notified(stage.post(.playerReady)) == [.playerReady])
        #expect(Self.notified(stage.say("app.ready", from: 1)) == [.easeLiveReady] && stage.core.phase == .ready)
        #expect(Self.notified(stage.say("app.ready", from: 1)) == [])
        stage.handle(.pageClosed(.init(number: 1)))
        #expect(stage.core.phase == .loading)
        stage.handle(.pageOpened(.init(number: 2), isController: false))
        stage.say("bridge.ready", from: 2)
        #expect(
            stage.say("app.ready", from: 2) == [] && stage.core.phase == .loading, "an observer does not count")
        stage.handle(.pageOpened(.init(number: 3), isController: true))
        #expect(Self.notified(stage.say("app.ready", from: 3)) == [])
        #expect(Self.notified(stage.say("bridge.ready", from: 3)) == [.bridgeReady, .easeLiveReady])
        stage.say("app.loading", from: 3)
        #expect(stage.core.phase == .loading)
    }

    @Test("a page over a channel sends messages to the application, and does not control the player")
    func messages() {
        var stage = Stage()
        stage.handle(.load)
        stage.handle(.pageOpened(.init(number: 1), isController: false, sendsMessages: true))
        stage.handle(.pageOpened(.init(number: 2), isController: false))
        for page in 1...2 { stage.say("bridge.ready", from: page) }
        let shown = Self.notified(stage.say("shown", ["text": "goal"], from: 1))
        #expect(shown.count { if case .bridgeMessage = $0 { true } else { false } } == 1)
        let refused = Self.notified(stage.say("shown", ["text": "goal"], from: 2))
        #expect(!refused.contains { if case .bridgeMessage = $0 { true } else { false } })
        #expect(Self.commands(stage.say("player.mute", ["mute": .boolean(true)], from: 1)) == [])
    }

    @Test("nothing is sent before a page listens; then it receives the current state")
    func replay() {
        var stage = Stage()
        stage.handle(.load)
        stage.handle(.epoch(5, isNewItem: true))
        stage.handle(.pageOpened(.init(number: 1), isController: true))
        for message: OverlayMessage in [
            .playerState(.paused), .playerReady, .playerTime(OverlayTime(timecode: 1)), .playerSpeed(2),
            .playerMetadata("{}"), .appMessage("{}"), .playerState(.playing), .playerTime(OverlayTime(timecode: 2)),
            .appLanguage("de"),
        ] { stage.post(message) }
        #expect(stage.take(1).isEmpty)
        stage.say("bridge.ready", from: 1)
        let received = stage.take(1)
        #expect(
            received.map(\.event) == [
                "bridge.welcome", "app.status", "player.ready", "player.state", "player.time", "player.speed",
                "app.language",
            ])
        #expect(received[4].text == #"{"v":1,"event":"player.time","metadata":{"timecode":2},"seq":5,"epoch":5}"#)
        #expect(received[3].text.contains("playing"))
    }

    @Test("only the newest time waits, the rest is in order, and a slow page is closed with a reason")
    func queue() {
        var stage = Stage()
        stage.handle(.load)
        stage.attach(1)
        stage.attach(2)
        stage.post(.playerTime(OverlayTime(timecode: 1)))
        stage.post(.playerState(.paused))
        stage.post(.playerTime(OverlayTime(timecode: 2)))
        stage.post(.playerMute(true))
        let received = stage.take(1)
        #expect(
            received.map(\.event) == ["player.state", "player.time", "player.mute"] && received[1].text.contains("2"))
        _ = stage.take(2)
        for number in 0..<OverlayPageQueue.messageLimit { stage.post(.playerVolume(number % 100)) }
        #expect(stage.take(2).count == OverlayPageQueue.messageLimit)
        #expect(stage.core.isClosing(.init(number: 1)) == false)
        stage.post(.playerMute(false))
        #expect(stage.core.isClosing(.init(number: 1)))
        #expect(stage.take(1).map(\.text) == [OverlayClosing.queueOverflowed.reason])
        #expect(stage.take(2).map(\.event) == ["player.mute"], "the other one receives the same messages")
    }

    @Test("only a controlling page has effects")
    func commands() {
        var stage = Stage()
        stage.handle(.load)
        stage.attach(1)
        stage.attach(2, isController: false)
        let time: JSONObject = ["timecode": .integer(5)]
        #expect(
            stage.say("player.time", time, from: 1) == [
                .notify(.bridgeTime(5), isPublished: false), .command(.bridgeTime(5)),
            ])
        let outputs = stage.say("player.time", time, from: 2)
        #expect(Self.commands(outputs) == [])
        guard case .easeLiveError(let error)? = Self.notified(outputs).first else {
            Issue.record("\(outputs)")
            return
        }
        #expect(error.level == .warning && error.component == .bridgeConnectivity)
        #expect(stage.take(2).map(\.event) == ["bridge.error"] && stage.take(1).isEmpty)
        #expect(Self.notified(stage.say("poll.vote", from: 1)).first?.name == .bridgeMessage)
        // Requests for the earlier item are no longer valid.
        stage.handle(.epoch(4, isNewItem: true))
        #expect(stage.say("player.time", time, epoch: 3, from: 1) == [])
        #expect(stage.take(1).map(\.event) == ["bridge.error"])
        #expect(Self.commands(stage.say("player.time", time, epoch: 4, from: 1)) == [.bridgeTime(5)])
        // Requests of the application are performed as well.
        #expect(
            stage.handle(.post(.bridgeMute(true), isPublished: true)) == [
                .notify(.bridgeMute(true), isPublished: true), .command(.bridgeMute(true)),
            ])
    }

    @Test("two pages that follow each other's language do not loop")
    func language() {
        var stage = Stage()
        stage.handle(.load)
        stage.attach(1)
        stage.attach(2)
        func spoken(_ language: String) -> JSONObject {
            ["language": .string(language), "available": .array([.string("en"), .string("de")])]
        }
        #expect(
            Self.notified(stage.say("app.language", spoken("de"), from: 1))
                == [.bridgeLanguage("de", available: ["en", "de"])])
        #expect(stage.take(1).isEmpty && stage.take(2).map(\.event) == ["app.language"])
        #expect(stage.say("app.language", spoken("de"), from: 2) == [] && stage.take(1).isEmpty)
        stage.post(.appLanguage("en"))
        #expect(stage.take(1).map(\.event) == ["app.language"] && stage.take(2).map(\.event) == ["app.language"])
        #expect(Self.notified(stage.say("app.language", spoken("en"), from: 1)).count == 1)
        #expect(stage.say("app.language", spoken("en"), from: 2) == [])
        #expect(stage.take(1).isEmpty && stage.take(2).isEmpty)
        #expect(Self.notified(stage.post(.appLanguage("no language"))).count == 2)
    }

    @Test("errors are reported to the page, limited to the application, and too many close the page")
    func faults() {
        var stage = Stage()
        stage.handle(.load)
        stage.attach(1)
        stage.attach(2)
        var warnings = 0
        for number in 0..<OverlayPage.maximumFaults {
            let outputs =
                number % 2 == 0
                ? stage.handle(.pageMessage(.init(number: 1), "{")) : stage.handle(.pageBinaryMessage(.init(number: 1)))
            warnings += Self.notified(outputs).count
        }
        #expect(warnings == OverlayPage.maximumWarnings)
        let received = stage.take(1)
        #expect(received.count { $0.event == "bridge.error" } == OverlayPage.maximumFaults)
        #expect(received.last?.text == OverlayClosing.malformed.reason && stage.take(2).isEmpty)
        #expect(stage.say("player.mute", ["mute": .boolean(true)], from: 1) == [], "its messages are ignored")
        // A repeated number is an old message.
        let text = OverlayEnvelope("player.mute", ["mute": .boolean(true)], sequence: 1_000, epoch: 0).text
        #expect(Self.commands(stage.handle(.pageMessage(.init(number: 2), text))).count == 1)
        #expect(Self.commands(stage.handle(.pageMessage(.init(number: 2), text))).isEmpty)
    }

    @Test("a page that sends too much is closed")
    func flood() {
        var stage = Stage()
        stage.handle(.load)
        stage.attach(1)
        var obeyed = 0
        for _ in 0..<300 { obeyed += Self.commands(stage.say("player.mute", ["mute": .boolean(true)], from: 1)).count }
        #expect((190...200).contains(obeyed))
        #expect(stage.take(1).last?.text == OverlayClosing.tooManyMessages.reason)
        for page in 2...70 { stage.handle(.pageOpened(.init(number: page), isController: false)) }
        #expect(stage.take(70).map(\.text) == [OverlayClosing.tooManyPages.reason])
        // They do not prevent a controlling page.
        stage.attach(71)
        #expect(Self.commands(stage.say("player.mute", ["mute": .boolean(true)], from: 71)) == [.bridgeMute(true)])
    }

    @Test("silence is a warning, then fatal, and destroys the overlay; a sign of life prevents both")
    func watchdog() {
        var stage = Stage()
        stage.handle(.load)
        let early = stage.run(.seconds(9 as Int64))
        #expect(early == [])
        guard case .notify(.easeLiveError(let warning), _)? = stage.run(.seconds(2 as Int64)).first else {
            Issue.record("no warning")
            return
        }
        #expect(warning.level == .warning && warning.component == .bridgeConnectivity)
        stage.attach(1)
        for _ in 0..<20 {
            #expect(stage.run(.seconds(4 as Int64)) == [])
            #expect(stage.take(1).map(\.event) == ["bridge.keepalive"])
            stage.say("app.keepalive", from: 1)
        }
        #expect(Self.notified(stage.run(.seconds(11 as Int64))).count == 1)
        let end = stage.run(.seconds(20 as Int64))
        guard case .notify(.easeLiveError(let fatal), _)? = end.first else {
            Issue.record("\(end)")
            return
        }
        #expect(fatal.isFatal && end.last == .destroyed && stage.core.phase == .destroyed)
        #expect(stage.take(1).map(\.event).suffix(2) == ["easelive.error", "close"])
    }

    @Test("without an expected page none is missed, also after one was closed")
    func timeout() {
        var stage = Stage(OverlayCore.Configuration(expectsPages: false))
        stage.handle(.load)
        #expect(stage.run(.seconds(3_600 as Int64)) == [])
        stage.handle(.pageOpened(.init(number: 1), isController: true))
        #expect(Self.notified(stage.run(.seconds(11 as Int64))).count == 1, "the page never reports that it has loaded")
        stage.handle(.pageClosed(.init(number: 1)))
        #expect(stage.run(.seconds(3_600 as Int64)) == [] && stage.core.phase == .loading)
    }

    @Test("hidden keeps pages; disabled notifies and closes them, and is final")
    func status() {
        var stage = Stage()
        stage.handle(.load)
        stage.attach(1)
        #expect(Self.notified(stage.post(.bridgeAppStatus(.hidden))) == [.bridgeAppStatus(.hidden)])
        #expect(stage.post(.bridgeAppStatus(.hidden)) == [] && stage.take(1).map(\.event) == ["app.status"])
        #expect(
            Self.notified(stage.say("app.status", ["status": .string("enabled")], from: 1)) == [
                .bridgeAppStatus(.enabled)
            ])
        #expect(stage.take(1).isEmpty, "the sender does not receive its own message")
        #expect(
            stage.post(.bridgeAppStatus(.disabled)) == [
                .notify(.bridgeAppStatus(.disabled), isPublished: false), .destroyed,
            ])
        #expect(stage.take(1).map(\.event) == ["app.status", "close"])
        stage.handle(.pageOpened(.init(number: 2), isController: true))
        #expect(stage.take(2).map(\.text) == [OverlayClosing.disabled.reason])
    }

    @Test("an error of the player is an error of the overlay, and a fatal one is final")
    func errors() {
        var stage = Stage()
        stage.handle(.load)
        stage.attach(1)
        let warning = OverlayError.playerConnectivity(level: .warning, reason: "no anchor")
        #expect(Self.notified(stage.post(.playerError(warning))) == [.playerError(warning), .easeLiveError(warning)])
        #expect(stage.take(1).map(\.event) == ["easelive.error"] && stage.core.phase == .loading)
        let fatal = stage.say("app.error", ["type": .string("fatal"), "message": .string("broken")], from: 1)
        #expect(fatal.last == .destroyed && Self.notified(fatal).count == 1)
        var other = Stage()
        other.handle(.load)
        #expect(Self.notified(other.post(.appMessage("{"))).map(\.name) == [.appMessage, .easeLiveError])
    }

    @Test("a hundred thousand random inputs cause no failure", arguments: [1, 2, 3] as [UInt64])
    func random(seed: UInt64) {
        var generator = Generator(state: seed)
        var stage = Stage(OverlayCore.Configuration(fatal: seed == 3 ? .seconds(30 as Int64) : nil))
        stage.handle(.load)
        let events = ["bridge.ready", "app.ready", "app.loading", "player.mute", "app.language", "x", "app.keepalive"]
        var commands = 0
        for _ in 0..<100_000 {
            let page = Int.random(in: 1...6, using: &generator)
            switch Int.random(in: 0..<9, using: &generator) {
            case 0: stage.handle(.pageOpened(.init(number: page), isController: page < 4))
            case 1: stage.handle(.pageClosed(.init(number: page)))
            case 2: stage.post(.playerTime(OverlayTime(timecode: Int64(page))))
            case 3: stage.post(.playerVolume(page))
            case 4: _ = stage.take(page)
            case 5: _ = stage.run(.milliseconds(Int64.random(in: 0...500, using: &generator)))
            case 6: stage.handle(.pageMessage(.init(number: page), "{\(page)"))
            default:
                let event = events.randomElement(using: &generator)!
                let outputs = stage.say(
                    event, ["mute": .boolean(true), "language": .string("de")], from: page)
                let obeyed = Self.commands(outputs).count
                if page >= 4 { #expect(obeyed == 0) }
                commands += obeyed
            }
            for page in stage.core.pages.values { #expect(page.queue.count <= OverlayPageQueue.messageLimit) }
            #expect(stage.core.pages.count <= 6)
        }
        #expect(commands > 0)
    }

    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }
}
