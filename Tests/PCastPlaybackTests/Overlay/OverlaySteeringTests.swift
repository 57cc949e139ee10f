import Dispatch
import Foundation
import PCastCore
import PCastJSON
import PCastOverlay
import Testing

@testable import PCastPlayback

@Suite("Control of a player by its overlay", .timeLimit(.minutes(5)))
struct OverlaySteeringTests {
    @Test("a page receives the player's state and controls it, and a seek by wall-clock time is clamped")
    func steering() async throws {
        let served = try await ServedOverlay()
        let pipeline = try await served.open()
        let page = served.page()
        page.say("bridge.ready", seq: 1)
        page.say("app.ready", seq: 2)
        #expect(await page.hears("bridge.welcome", "controller", .boolean(true)))
        #expect(await page.next("player.ready") != nil)
        let time = try #require(await page.next("player.time"))
        #expect(time.metadata["timecode"] == .integer(1_790_000_000_000))
        #expect(time.metadata["maxTimecode"] == .integer(1_790_000_060_000))

        page.say("player.time", #"{"timecode":1790000012000}"#, seq: 3)
        #expect(await page.hears("player.state", "state", .string("seeking")))
        #expect(pipeline.calls.contains("seek to 1790000012000"))
        pipeline.completeSeek()
        #expect(await page.hears("player.time", "timecode", .integer(1_790_000_012_000)))
        #expect(await page.hears("player.state", "state", .string("playing")))
        // A position beyond the end leads to the end, and an extreme time does not trap.
        page.say("player.time", #"{"timecode":9007199254740991}"#, seq: 4)
        #expect(await page.hears("player.state", "state", .string("seeking")))
        #expect(pipeline.playhead.position == .seconds(60 as Int64))
        pipeline.completeSeek()
        #expect(await page.hears("player.state", "state", .string("playing")))

        page.say("player.volume", #"{"volume":40}"#, seq: 5)
        #expect(await page.hears("player.volume", "volume", .integer(40)))
        page.say("player.mute", #"{"mute":true}"#, seq: 6)
        #expect(await page.hears("player.mute", "mute", .boolean(true)))
        page.say("player.speed", #"{"speed":2}"#, seq: 7)
        #expect(await page.hears("player.speed") { $0["speed"]?.number == 2 })
        #expect(served.player.volume == 0.4 && served.player.muted && served.player.speed == 2)
        page.say("player.state", #"{"state":"paused"}"#, seq: 8)
        #expect(await page.hears("player.state", "state", .string("paused")))
        #expect(served.player.state == .paused(buffering: false))
        page.say("stage.clicked", #"{"controls":"visible"}"#, seq: 9)
        #expect(await page.hears("player.controls", "controls", .string("visible")))
        // The frames of this player are not composed, which causes a warning.
        page.say("player.videoscale", #"{"scaleX":1,"scaleY":1,"pivotX":0,"pivotY":0,"scaleDuration":0}"#, seq: 10)
        #expect(await page.hears("easelive.error", "type", .string("warning")))
        #expect(served.overlay.phase == .ready)
        page.close()
        await served.close()
    }

    @Test("a film without wall-clock times counts from its start, and pages can seek in it")
    func counted() async throws {
        let served = try await ServedOverlay()
        let pipeline = try await served.open(anchored: false)
        let page = served.page()
        page.say("bridge.ready", seq: 1)
        page.say("app.ready", seq: 2)
        let time = try #require(await page.next("player.time"))
        #expect(time.metadata["timecode"] == .integer(0) && time.metadata["initialTimecode"] == .integer(0))
        #expect(time.metadata["maxTimecode"] == .integer(60_000))
        // A time before the start is the start, and one after the end is the end.
        let seeks: [(asked: Int64, landed: Int64)] = [(12_500, 12_500), (.max >> 11, 60_000), (-5, 0)]
        for (seq, (asked, landed)) in seeks.enumerated() {
            page.say("player.time", "{\"timecode\":\(asked)}", seq: 3 + seq)
            #expect(await page.hears("player.state", "state", .string("seeking")))
            pipeline.completeSeek()
            #expect(await page.hears("player.time", "timecode", .integer(landed)))
            // Only the current state is reported, so a seek that follows at once would not be reported by itself.
            #expect(await page.hears("player.state", "state", .string("playing")))
        }
        page.close()
        await served.close()
    }

    @Test("the time is reported as soon as it is known, also for a paused frame, and then once")
    func lateTime() async throws {
        let served = try await ServedOverlay()
        let messages = served.overlay.messages()
        let pipeline = try await served.open(anchored: false)
        // Times have been reported by now, but no wall-clock times.
        pipeline.run(0.5)
        await served.player.settled()
        served.player.pause()
        for await message in messages where message == .playerState(.paused) { break }
        let tag = TimedMetadata(source: .id3, position: .zero, name: "TXXX", value: #"{"ut":1790000000000}"#)
        pipeline.open(ServedOverlay.film)
        for _ in 0..<3 { pipeline.notify(.metadata(tag)) }
        await served.player.settled()
        served.player.volume = 0.3
        var heard: [OverlayMessage] = []
        for await message in messages {
            if message == .playerVolume(30) { break }
            heard.append(message)
        }
        #expect(heard.count { $0.name == .playerMetadata } == 3)
        var times: [Int64] = []
        for case .playerTime(let time) in heard { times.append(time.timecode) }
        // Until then the film counts from its start.
        #expect(times.filter { $0 > 60_000 } == [1_790_000_000_500], "\(times)")
        await served.close()
    }

    @Test("a second screen follows and controls another overlay's player, and reports its end")
    func secondScreen() async throws {
        let served = try await ServedOverlay()
        let pipeline = try await served.open()
        let screen = try Self.screen(of: served, token: "?token=\(served.overlay.controllerToken)")
        let messages = screen.messages()
        screen.load()
        var names: Set<OverlayMessage.Name> = []
        for await message in messages {
            names.insert(message.name)
            if names.isSuperset(of: [.playerReady, .playerTime, .playerState, .playerVolume, .playerMute]) { break }
        }
        screen.post(.bridgeState(.paused))
        for await message in messages where message == .playerState(.paused) { break }
        #expect(served.player.state == .paused(buffering: false))
        screen.post(.bridgeTime(1_790_000_030_000))
        for await message in messages where message == .playerState(.seeking) { break }
        #expect(pipeline.calls.contains("seek to 1790000030000"))
        // All of many messages arrive in order.
        for volume in 1...50 { screen.post(.bridgeVolume(volume)) }
        var volumes: [Int] = []
        for await case .playerVolume(let volume) in messages {
            volumes.append(volume)
            if volume == 50 { break }
        }
        #expect(volumes == Array(1...50))
        await served.close()
        for await message in messages where message.name == .playerError { break }
        #expect(screen.phase != .destroyed)
        screen.destroy()
        await screen.settled()
    }

    @Test("a second screen without a token only watches, and requests to it are answered with a warning")
    func screenWithoutToken() async throws {
        let served = try await ServedOverlay()
        _ = try await served.open()
        let screen = try Self.screen(of: served, token: "")
        let messages = screen.messages()
        screen.load()
        for await message in messages where message.name == .playerTime { break }
        screen.post(.bridgeState(.paused))
        for await case .playerError(let error) in messages {
            #expect(error.level == .warning && error.component == .playerConnectivity)
            break
        }
        #expect(served.player.state == .playing(buffering: false))
        screen.destroy()
        await screen.settled()
        await served.close()
    }

    private static func screen(of served: ServedOverlay, token: String) throws -> Overlay {
        let plugin = SecondScreenPlayerPlugin(
            "ws://127.0.0.1:\(served.port)/bridge/final\(token)", timeout: .milliseconds(50))
        return try Overlay(program: "screen", player: plugin, center: NotificationCenter())
    }
}

/// A served overlay of a scripted player.
final class ServedOverlay: Sendable {
    let pipelines = ScriptedPipelines()
    let player: Player
    let overlay: Overlay
    /// Where the overlay posts its notifications, and no other one.
    let center = NotificationCenter()
    let port: Int
    private let bridge: OverlayBridge
    private let serving: Task<Void, any Error>

    /// Creates an overlay that is not destroyed although its pages give no signs of life, as long as a test may take.
    init(folder: String? = nil, closingTime: DispatchTimeInterval = .seconds(5)) async throws {
        player = Player(pipelines.factory)
        overlay = try Overlay(
            program: "final", player: PlayerOverlayPlugin(player),
            configuration: .init(warning: .seconds(3_600), fatal: nil), center: center)
        let bridge = OverlayBridge([overlay], folder: folder, closingTime: closingTime)
        self.bridge = bridge
        let (ports, opening) = AsyncStream.makeStream(of: Int.self)
        serving = Task { try await bridge.run { opening.yield($0) } }
        port = try #require(await ports.first { _ in true })
        overlay.load()
    }

    func page(isController: Bool = true, behind gate: AsyncStream<Void>? = nil) -> ScriptedPage {
        let token = isController ? "?token=\(overlay.controllerToken)" : ""
        return ScriptedPage("ws://127.0.0.1:\(port)/bridge/final\(token)", behind: gate)
    }

    /// A film of one minute that was recorded at 1,790,000,000,000 milliseconds since 1970.
    static var film: ContentOverview {
        var film = ContentOverview.film(60)
        film.anchors = [
            TimecodeAnchor(
                position: .zero, wallTime: WallTime(millisecondsSinceEpoch: 1_790_000_000_000), source: .file)
        ]
        return film
    }

    /// Plays a film with or without known wall-clock times.
    func open(anchored: Bool = true) async throws -> ScriptedPipeline {
        player.set(video: Video("https://origin.example/a.mp4"), play: true)
        let pipeline = try await pipelines.last(player)
        pipeline.open(anchored ? Self.film : .film(60))
        pipeline.completeSeek()
        await player.settled()
        return pipeline
    }

    /// Waits until pending work has made a condition true.
    func wait(until isSo: () -> Bool) async {
        while !isSo(), !Task.isCancelled {
            await overlay.settled()
            await player.settled()
        }
    }

    func close() async {
        overlay.destroy()
        player.reset()
        await player.settled()
        serving.cancel()
        _ = try? await serving.value
    }
}
