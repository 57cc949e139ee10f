import Foundation
import PCastCore
import PCastJSON
import PCastOverlay
import PCastWeb
import Testing

@testable import PCastPlayback

@Suite("The bridge between a player and its pages", .timeLimit(.minutes(5)))
struct OverlayBridgeTests {
    @Test("a second page without a token can watch but not control, and invalid messages affect no other page")
    func pagesWithoutToken() async throws {
        let served = try await ServedOverlay()
        _ = try await served.open()
        let (page, onlooker) = (served.page(), served.page(isController: false))
        for each in [page, onlooker] { each.say("bridge.ready", seq: 1) }
        #expect(await onlooker.next("bridge.welcome")?.metadata["controller"] == .boolean(false))
        onlooker.say("player.state", #"{"state":"paused"}"#, seq: 2)
        #expect(await onlooker.next("bridge.error") != nil)
        onlooker.sayBytes([1, 2, 3])
        #expect(await onlooker.next("bridge.error")?.metadata["reason"] == .string("the message is not text"))
        #expect(served.player.state == .playing(buffering: false))
        let liar = ScriptedPage("ws://127.0.0.1:\(served.port)/bridge/final?token=abc")
        await liar.end()
        let lost = ScriptedPage("ws://127.0.0.1:\(served.port)/bridge/nobody")
        await lost.end()
        // This is larger than the maximum message size.
        onlooker.sayBytes([UInt8](repeating: 65, count: 10_000_000))
        await onlooker.end()
        page.say("player.state", #"{"state":"paused"}"#, seq: 2)
        while let received = await page.next("player.state"), received.metadata["state"] != .string("paused") {}
        #expect(served.player.state == .paused(buffering: false))
        served.overlay.status = .disabled
        // The earlier state was sent when the page connected.
        var status = await page.next("app.status")
        while let received = status, received.metadata["status"] != .string("disabled") {
            status = await page.next("app.status")
        }
        #expect(status != nil)
        await page.end()
        await served.close()
    }

    @Test("pings count as messages of a page, and a page that sends too many is disconnected")
    func pings() async throws {
        let served = try await ServedOverlay()
        _ = try await served.open()
        let page = served.page()
        page.say("bridge.ready", seq: 1)
        #expect(await page.next("bridge.welcome") != nil)
        let uri = "ws://127.0.0.1:\(served.port)/bridge/final"
        try await WebSocketClient().connect(to: uri) { connection in
            await withTaskGroup(of: Void.self) { group in
                // Sending fails only after the overlay has closed the connection.
                group.addTask { while (try? await connection.ping()) != nil {} }
                group.addTask { _ = try? await connection.forEachMessage { _ in } }
                await group.waitForAll()
            }
        }
        page.say("player.state", #"{"state":"paused"}"#, seq: 2)
        #expect(await page.hears("player.state", "state", .string("paused")))
        page.close()
        await served.close()
    }

    @Test("a page that does not read is disconnected, and the other one receives everything in time")
    func pageThatDoesNotRead() async throws {
        // The page is not cut off before it reads again.
        let served = try await ServedOverlay(closingTime: .seconds(600))
        _ = try await served.open()
        let page = served.page()
        page.say("bridge.ready", seq: 1)
        #expect(await page.next("bridge.welcome") != nil)
        let (gate, opening) = AsyncStream.makeStream(of: Void.self)
        let deaf = served.page(isController: false, behind: gate)
        deaf.say("bridge.ready", seq: 1)
        // This is more than the system's buffers hold.
        let text = String(repeating: "a", count: 60_000)
        let second = OverlayPage.ID(number: 2)
        var said = 0
        while !served.overlay.isClosing(second), !Task.isCancelled {
            said += 1
            served.overlay.post(.appMessage("{\"event\":\"news\",\"metadata\":{\"text\":\"\(text)\"}}"))
            try #require(await page.next("news") != nil)
        }
        #expect(served.overlay.pageCount == 2, "the page counts until it has received the end")
        opening.finish()
        await deaf.end()
        #expect(deaf.count("news") < said && page.count("news") == said)
        await served.wait { served.overlay.pageCount == 1 }
        page.say("player.state", #"{"state":"paused"}"#, seq: 2)
        #expect(await page.hears("player.state", "state", .string("paused")))
        page.close()
        await served.close()
    }

    @Test("a page's files are those of its folder by their bytes, not those of a folder with an equivalent name")
    func fileNames() throws {
        let folder = try TemporaryFolder()
        let (inside, outside) = (folder.path + "/caf\u{E9}", folder.path + "/cafe\u{301}")
        for path in [inside, outside, inside + "/sub", inside + "/\u{301}sub"] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        for path in [
            inside + "/a.js", inside + "/\u{301}a.js", inside + "/sub/b.js", inside + "/\u{301}sub/c.js",
            inside + "/.\u{301}hidden", inside + "/sub/.\u{301}hidden", outside + "/secret.txt",
            folder.path + "/\u{301}secret.txt",
        ] { try Data("text".utf8).write(to: URL(fileURLWithPath: path)) }
        symlink(outside + "/secret.txt", inside + "/link.txt")
        symlink(outside, inside + "/linked")
        let files = OverlayFiles(folder: inside)
        for path in ["a.js", "%CC%81a.js", "sub/b.js", "%CC%81sub/c.js"] {
            #expect(files.document(path[...]).status == 200, "\(path)")
        }
        for path in [
            "link.txt", "linked/secret.txt", ".%CC%81hidden", "sub/.%CC%81hidden", "../%CC%81secret.txt",
            "sub/../../%CC%81secret.txt", "..%2F%CC%81secret.txt", "%00%CC%81",
        ] { #expect(files.document(path[...]).status == 404, "\(path)") }
    }

    @Test("pages are served, but no other files, and not under another host name")
    func files() async throws {
        let folder = try TemporaryFolder()
        try folder.write("<p>mine</p>", to: "index.html")
        try folder.write("1", to: "a b.js")
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder.path)/out.txt", withDestinationPath: "/etc/hostname")
        let served = try await ServedOverlay(folder: folder.path)
        let origin = "http://127.0.0.1:\(served.port)"
        let ample = Duration.seconds(600)
        func get(_ path: String, _ headers: [(name: String, value: String)] = []) async throws -> HTTPResult {
            try await HTTPRequests.send("GET", origin + path, headers: headers, within: ample)
        }
        func put(_ text: String, _ headers: [(name: String, value: String)] = []) async throws -> Int {
            try await HTTPRequests.send(
                "PUT", "\(origin)/program/final/status", headers: headers, body: Array(text.utf8), within: ample
            ).status
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
        #expect(try await put("hidden") == 401)
        let bearer = [(name: "Authorization", value: "Bearer \(served.overlay.controllerToken)")]
        #expect(try await put("gone", bearer) == 400)
        #expect(try await put("hidden\n", bearer) == 204)
        #expect(served.overlay.status == .hidden)
        await served.close()
        let example = try await ServedOverlay()
        for name in ["", "overlay.js", "view.js", "words.js", "overlay.css"] {
            let answer = try await HTTPRequests.send(
                "GET", "http://127.0.0.1:\(example.port)/overlay/final/\(name)", within: ample)
            #expect(answer.status == 200 && answer.body.count > 500, "\(name)")
        }
        await example.close()
    }
}
