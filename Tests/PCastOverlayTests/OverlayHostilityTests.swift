import PCastCore
import PCastJSON
import PCastTestSupport
import Testing

@testable import PCastOverlay

/// A program with a controlling page and, if admitted, hostile pages.
private struct Programme {
    private var core = OverlayCore()
    private var now = Instant(nanoseconds: 1)
    private var sequence: Int64 = 0
    /// The messages that the controlling page received.
    private(set) var received: [String] = []
    /// The outputs for everybody and for the player, except warnings about pages.
    private(set) var outputs: [OverlayCore.Output] = []
    private(set) var warnings = 0
    private var liars: [Int] = []
    private var lastLiar = 100

    private let first = OverlayPage.ID(number: 1)

    init() {
        handle(.load)
        handle(.pageOpened(first, isController: true))
        say("bridge.ready")
        say("app.ready")
        handle(.post(.playerReady, isPublished: false))
    }

    private mutating func handle(_ input: OverlayCore.Input) {
        core.handle(input, at: now)
        drain()
    }

    private mutating func drain() {
        while let output = core.poll() {
            switch output {
            case .wake: break
            case .notify(.easeLiveError(let error), _) where !error.isFatal && error.component == .bridgeConnectivity:
                warnings += 1
            default: outputs.append(output)
            }
        }
        while let outgoing = core.takeOutgoing(for: first) {
            if case .text(let text) = outgoing { received.append(text) } else { return received.append("closed") }
        }
    }

    private mutating func say(_ event: String, _ metadata: JSONObject = [:]) {
        sequence += 1
        handle(.pageMessage(first, OverlayEnvelope(event, metadata, sequence: sequence, epoch: core.epoch).text))
    }

    /// Performs a regular event.
    mutating func goOn(_ generator: inout SeededGenerator) {
        now = now + .milliseconds(Int64.random(in: 1...400, using: &generator))
        core.advance(to: now)
        drain()
        let number = Int64.random(in: 0...100, using: &generator)
        switch Int.random(in: 0..<9, using: &generator) {
        case 0: handle(.post(.playerTime(OverlayTime(timecode: number)), isPublished: false))
        case 1: handle(.post(.playerVolume(Int(number)), isPublished: false))
        case 2: handle(.post(.appMessage("{\"n\":\(number)}"), isPublished: false))
        case 3: handle(.epoch(core.epoch + 1, isNewItem: number > 50))
        case 4: say("player.volume", ["volume": .integer(number)])
        case 5: say("player.time", ["timecode": .integer(number)])
        case 6: say("poll.vote", ["choice": .integer(number)])
        case 7: say("app.language", ["language": .string(number > 50 ? "de" : "en")])
        default: say("app.keepalive")
        }
    }

    /// Performs an action of a page without a token.
    mutating func lie(_ generator: inout SeededGenerator) {
        guard let liar = liars.randomElement(using: &generator), Int.random(in: 0..<8, using: &generator) > 0 else {
            lastLiar += 1
            liars.append(lastLiar)
            return handle(.pageOpened(.init(number: lastLiar), isController: false))
        }
        let id = OverlayPage.ID(number: liar)
        switch Int.random(in: 0..<10, using: &generator) {
        case 0:
            liars.removeAll { $0 == liar }
            handle(.pageClosed(id))
        case 1: handle(.pageBinaryMessage(id))
        case 2: handle(.pageMessage(id, String(repeating: "[", count: Int.random(in: 0...70_000, using: &generator))))
        case 3: while core.takeOutgoing(for: id) != nil, !core.isClosing(id) {}
        default: handle(.pageMessage(id, Self.words(&generator)))
        }
    }

    /// Returns a meaningful message, intact or with an error.
    private static func words(_ generator: inout SeededGenerator) -> String {
        let name = OverlayEventName.allCases.randomElement(using: &generator) ?? .bridgeReady
        let metadata: JSONObject = [
            "timecode": .integer(7), "state": .string("paused"), "status": .string("disabled"), "mute": .boolean(true),
            "volume": .integer(.random(in: -9...200, using: &generator)), "speed": .number(2), "type": .string("fatal"),
            "message": .string("no"), "language": .string("xx"), "controls": .string("hidden"),
        ]
        let numbers: [Int64] = [0, 1, 5, 1 << 53 - 1, -1, .max]
        let envelope = OverlayEnvelope(
            name.rawValue, metadata, sequence: numbers.randomElement(using: &generator) ?? 0,
            epoch: numbers.randomElement(using: &generator) ?? 0)
        var bytes = Array(envelope.text.utf8)
        for _ in 0..<Int.random(in: 0...2, using: &generator) {
            bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: .min ... .max, using: &generator)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

@Suite("Hostile pages of an overlay")
struct OverlayHostilityTests {
    @Test(
        "pages without a token have no effect on the others", arguments: 0..<20
    )
    func nothingChanges(seed: UInt64) {
        var (quiet, loud) = (Programme(), Programme())
        var (events, sameEvents) = (SeededGenerator(seed: seed), SeededGenerator(seed: seed))
        var lies = SeededGenerator(seed: seed &+ 1_000)
        for _ in 0..<300 {
            quiet.goOn(&events)
            loud.goOn(&sameEvents)
            for _ in 0..<Int.random(in: 0...4, using: &lies) { loud.lie(&lies) }
        }
        #expect(loud.received == quiet.received && quiet.received.count > 100)
        #expect(loud.outputs == quiet.outputs && quiet.outputs.count > 100)
        #expect(quiet.warnings == 0 && loud.warnings > 0, "false messages were sent, and cause warnings")
    }
}
