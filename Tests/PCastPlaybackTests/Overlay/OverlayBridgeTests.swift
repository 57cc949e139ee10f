import Foundation
import PCastMedia
import PCastOverlay
import PCastWeb
import Testing

@testable import PCastPlayback

/// A page without a browser.
private final class ScriptedPage: Sendable {
    /// What it was told, as text.
    let told: AsyncStream<String>
    private let saying: AsyncStream<WebSocketMessage>.Continuation
    private let task: Task<Void, any Error>

    init(_ address: String) {
        let (told, telling) = AsyncStream.makeStream(of: String.self)
        let (words, saying) = AsyncStream.makeStream(of: WebSocketMessage.self)
        (self.told, self.saying) = (told, saying)
        task = Task {
            defer { telling.finish() }
            try await WebSocketClient().connect(to: address) { connection in
                try await withThrowingTaskGroup { group in
                    group.addTask { for await word in words { try await connection.send(word) } }
                    defer { group.cancelAll() }
                    try await connection.forEachMessage { message in
                        if case .text(let text) = message { telling.yield(text) }
                    }
                }
            }
        }
    }

    func say(_ event: String, _ metadata: String = "{}", seq: Int) {
        saying.yield(.text("{\"v\":1,\"event\":\"\(event)\",\"metadata\":\(metadata),\"seq\":\(seq),\"epoch\":0}"))
    }

    func sayBytes(_ bytes: [UInt8]) { saying.yield(.binary(bytes)) }

    /// What it is told next that is of this event.
    func next(_ event: String) async -> OverlayEnvelope? {
        for await text in told {
            if let envelope = try? OverlayEnvelope(text: text), envelope.event == event { return envelope }
        }
        return nil
    }

    /// Waits until the connection is over.
    func end() async { for await _ in told {} }

    func close() { task.cancel() }
}

/// An overlay of a scripted player, served.
private final class ServedOverlay: Sendable {
    let pipelines = ScriptedPipelines()
    let player: Player
    let overlay: Overlay
    let port: Int
    private let bridge: OverlayBridge
    private let serving: Task<Void, any Error>

    init(folder: String? = nil) async throws {
        player = Player(pipelines.factory)
        overlay = try Overlay(program: "final", player: PlayerOverlayPlugin(player), center: NotificationCenter())
        let bridge = OverlayBridge([overlay], folder: folder)
        self.bridge = bridge
        let (ports, opening) = AsyncStream.makeStream(of: Int.self)
        serving = Task { try await bridge.run { opening.yield($0) } }
        port = try #require(await ports.first { _ in true })
        overlay.load()
    }

    func page(isController: Bool = true) -> ScriptedPage {
        ScriptedPage("ws://127.0.0.1:\(port)/bridge/final" + (isController ? "?token=\(overlay.controllerToken)" : ""))
    }

    /// A film with the time of day at its beginning.
    func open(anchored: Bool = true) async throws -> ScriptedPipeline {
        player.set(video: Video("https://origin.example/a.mp4"), play: true)
        let pipeline = try await pipelines.last(player)
        var film = ContentOverview.film(60)
        if anchored {
            film.anchors = [
                TimecodeAnchor(
                    position: .zero, wallTime: WallTime(millisecondsSinceEpoch: 1_790_000_000_000), source: .file)
            ]
        }
        pipeline.open(film)
        pipeline.land()
        await player.settled()
        return pipeline
    }

    func close() async {
        overlay.destroy()
        player.reset()
        await player.settled()
        serving.cancel()
        _ = try? await serving.value
    }
}

@Suite("The bridge between a player and its pages", .timeLimit(.minutes(2)))
struct OverlayBridgeTests {
    @Test("a page is told what the player does, and steers it; a seek by the time of day comes to its place, clamped")
    func steering() async throws {
        let served = try await ServedOverlay()
        let pipeline = try await served.open()
        let page = served.page()
        page.say("bridge.ready", seq: 1)
        page.say("app.ready", seq: 2)
        #expect(await page.next("bridge.welcome")?.metadata["controller"] == .boolean(true))
        #expect(await page.next("player.ready") != nil)
        let time = try #require(await page.next("player.time"))
        #expect(time.metadata["timecode"] == .integer(1_790_000_000_000))
        #expect(time.metadata["maxTimecode"] == .integer(1_790_000_060_000))

        page.say("player.time", #"{"timecode":1790000012000}"#, seq: 3)
        #expect(await page.next("player.state")?.metadata["state"] != nil)
        while !pipeline.calls.contains("seek to 1790000012000") { await served.player.settled() }
        pipeline.land()
        var landed = await page.next("player.time")
        while landed?.metadata["timecode"] != .integer(1_790_000_012_000), landed != nil {
            landed = await page.next("player.time")
        }
        #expect(landed != nil)
        // Beyond the end is the end; a moment that no clock can say traps nothing.
        page.say("player.time", #"{"timecode":9007199254740991}"#, seq: 4)
        while pipeline.calls.count(where: { $0.hasPrefix("seek to") }) < 2 { await served.player.settled() }
        #expect(pipeline.playhead.position == .seconds(60 as Int64))
        pipeline.land()

        page.say("player.volume", #"{"volume":40}"#, seq: 5)
        #expect(await page.next("player.volume")?.metadata["volume"] == .integer(40))
        page.say("player.mute", #"{"mute":true}"#, seq: 6)
        #expect(await page.next("player.mute")?.metadata["mute"] == .boolean(true))
        page.say("player.speed", #"{"speed":2}"#, seq: 7)
        #expect(await page.next("player.speed")?.metadata["speed"]?.number == 2)
        page.say("player.state", #"{"state":"paused"}"#, seq: 8)
        while await page.next("player.state")?.metadata["state"] != .string("paused") {}
        #expect(served.player.state == .paused(buffering: false))
        page.say("stage.clicked", #"{"controls":"visible"}"#, seq: 9)
        #expect(await page.next("player.controls")?.metadata["controls"] == .string("visible"))
        // This player's pictures are not composed, which is a warning.
        page.say("player.videoscale", #"{"scaleX":1,"scaleY":1,"pivotX":0,"pivotY":0,"scaleDuration":0}"#, seq: 10)
        #expect(await page.next("easelive.error")?.metadata["type"] == .string("warning"))
        #expect(served.overlay.phase == .ready)
        page.close()
        await served.close()
    }

    @Test("without the time of day there is no time, and a seek is a warning of the player's")
    func withoutAnchor() async throws {
        let served = try await ServedOverlay()
        let messages = served.overlay.messages()
        _ = try await served.open(anchored: false)
        let page = served.page()
        page.say("bridge.ready", seq: 1)
        page.say("player.time", #"{"timecode":1790000012000}"#, seq: 2)
        var errors: [OverlayError] = []
        for await message in messages {
            if case .playerTime = message { Issue.record("a time of nothing") }
            if case .playerError(let error) = message { errors.append(error) }
            if case .easeLiveError(let error) = message {
                errors.append(error)
                break
            }
        }
        #expect(errors.count == 2 && errors[0] == errors[1])
        #expect(errors.first?.level == .warning && errors.first?.component == .playerConnectivity)
        page.close()
        await served.close()
    }

    @Test("a second page without a token sees, and is not obeyed; bytes and rubbish change nothing for the other")
    func onlookers() async throws {
        let served = try await ServedOverlay()
        _ = try await served.open()
        let (page, onlooker) = (served.page(), served.page(isController: false))
        for each in [page, onlooker] { each.say("bridge.ready", seq: 1) }
        #expect(await onlooker.next("bridge.welcome")?.metadata["controller"] == .boolean(false))
        onlooker.say("player.state", #"{"state":"paused"}"#, seq: 2)
        #expect(await onlooker.next("bridge.error") != nil)
        onlooker.sayBytes([1, 2, 3])
        #expect(await onlooker.next("bridge.error")?.metadata["reason"] == .string("a message that is no text"))
        #expect(served.player.state == .playing(buffering: false))
        let liar = ScriptedPage("ws://127.0.0.1:\(served.port)/bridge/final?token=abc")
        await liar.end()
        let lost = ScriptedPage("ws://127.0.0.1:\(served.port)/bridge/nobody")
        await lost.end()
        // Larger than a message may be.
        onlooker.sayBytes([UInt8](repeating: 65, count: 10_000_000))
        await onlooker.end()
        page.say("player.state", #"{"state":"paused"}"#, seq: 2)
        while await page.next("player.state")?.metadata["state"] != .string("paused") {}
        served.overlay.status = .disabled
        #expect(await page.next("app.status")?.metadata["status"] == .string("disabled"))
        await page.end()
        await served.close()
    }

    @Test("a second screen follows another overlay's player, and steers it")
    func secondScreen() async throws {
        let served = try await ServedOverlay()
        let pipeline = try await served.open()
        let plugin = SecondScreenPlayerPlugin(
            "ws://127.0.0.1:\(served.port)/bridge/final?token=\(served.overlay.controllerToken)")
        let screen = try Overlay(program: "screen", player: plugin, center: NotificationCenter())
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
        while !pipeline.calls.contains("seek to 1790000030000") { await served.player.settled() }
        screen.destroy()
        await screen.settled()
        await served.close()
    }

    @Test("pages are served, nothing outside of their folder is, and not to who names the server otherwise")
    func files() async throws {
        let folder = try TemporaryFolder()
        try folder.write("<p>mine</p>", to: "index.html")
        try folder.write("1", to: "a b.js")
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder.path)/out.txt", withDestinationPath: "/etc/hostname")
        let served = try await ServedOverlay(folder: folder.path)
        let origin = "http://127.0.0.1:\(served.port)"
        func get(_ path: String, _ headers: [(name: String, value: String)] = []) async throws -> HTTPAnswer {
            try await HTTPRequests.send("GET", origin + path, headers: headers)
        }
        #expect(String(decoding: try await get("/overlay/final/").body, as: UTF8.self) == "<p>mine</p>")
        #expect(String(decoding: try await get("/overlay/final").body, as: UTF8.self) == "<p>mine</p>")
        #expect(try await get("/overlay/final/a%20b.js").status == 200)
        #expect(String(decoding: try await get("/bridge.js").body, as: UTF8.self).contains("export function connect"))
        for path in [
            "/", "/overlay/nobody/", "/overlay/final/none.js", "/overlay/final/out.txt",
            "/overlay/final/%2e%2e/%2e%2e/etc/hostname", "/overlay/final/..%2fx", "/overlay/final/%00",
            "/overlay/final/%zz",
        ] { #expect(try await get(path).status == 404, "\(path)") }
        #expect(try await get("/overlay/final/", [("Host", "evil.example")]).status == 421)
        #expect(
            try await HTTPRequests.send("PUT", "\(origin)/program/final/status", body: Array("hidden".utf8)).status
                == 401)
        let bearer = [(name: "Authorization", value: "Bearer \(served.overlay.controllerToken)")]
        let door = "\(origin)/program/final/status"
        #expect(try await HTTPRequests.send("PUT", door, headers: bearer, body: Array("gone".utf8)).status == 400)
        #expect(try await HTTPRequests.send("PUT", door, headers: bearer, body: Array("hidden\n".utf8)).status == 204)
        #expect(served.overlay.status == .hidden)
        await served.close()
        let example = try await ServedOverlay()
        for name in ["", "overlay.js", "view.js", "words.js", "overlay.css"] {
            let answer = try await HTTPRequests.send("GET", "http://127.0.0.1:\(example.port)/overlay/final/\(name)")
            #expect(answer.status == 200 && answer.body.count > 500, "\(name)")
        }
        await example.close()
    }
}
