import Foundation
import Testing

@Suite struct PageTests {
    @Test(
        "pages and their resources are served with their types",
        arguments: [
            ("/", "text/html; charset=utf-8"), ("/publish", "text/html; charset=utf-8"),
            ("/watch", "text/html; charset=utf-8"), ("/watch/stream-x", "text/html; charset=utf-8"),
            ("/channel/demo", "text/html; charset=utf-8"), ("/assets/channel.css", "text/css; charset=utf-8"),
            ("/assets/channel.js", "text/javascript; charset=utf-8"),
            ("/assets/rooms.js", "text/javascript; charset=utf-8"),
            ("/assets/pcast.css", "text/css; charset=utf-8"), ("/assets/pcast.js", "text/javascript; charset=utf-8"),
            ("/assets/dashboard.css", "text/css; charset=utf-8"), ("/assets/pcast.svg", "image/svg+xml"),
            ("/assets/login.js", "text/javascript; charset=utf-8"),
            ("/assets/plots.js", "text/javascript; charset=utf-8"),
            ("/assets/dashboard.js", "text/javascript; charset=utf-8"),
            ("/assets/dialogs.js", "text/javascript; charset=utf-8"),
            ("/assets/administration.js", "text/javascript; charset=utf-8"),
            ("/assets/requests.js", "text/javascript; charset=utf-8"),
            ("/assets/keys.js", "text/javascript; charset=utf-8"),
            ("/assets/recordings.js", "text/javascript; charset=utf-8"),
            ("/assets/nodes.js", "text/javascript; charset=utf-8"),
            ("/assets/streams.js", "text/javascript; charset=utf-8"),
            ("/assets/watch.js", "text/javascript; charset=utf-8"),
            ("/assets/captions.js", "text/javascript; charset=utf-8"),
            ("/assets/publish.js", "text/javascript; charset=utf-8"),
            ("/overlay/", "text/html; charset=utf-8"), ("/overlay/overlay.css", "text/css; charset=utf-8"),
            ("/overlay/view.js", "text/javascript; charset=utf-8"),
        ])
    func types(path: String, type: String) async throws {
        try await TestPlatform.run { platform in
            let answer = try await platform.send("GET", path)
            #expect(answer.status == 200)
            #expect(answer.header("Content-Type") == type)
            #expect(answer.header("X-Content-Type-Options") == "nosniff")
            // The page at "/" depends on who is logged in.
            #expect(answer.header("Cache-Control") == (path == "/" ? "no-store" : "no-cache"))
            #expect(!answer.body.isEmpty)
        }
    }

    @Test("The module, each of its parts and the overlay's bridge may be loaded by pages of any origin")
    func modules() async throws {
        try await TestPlatform.run(host: "0.0.0.0") { platform in
            var rest = ["/pcast.mjs", "/bridge.js"]
            var seen: Set<String> = []
            while let path = rest.popLast() {
                guard seen.insert(path).inserted else { continue }
                let answer = try await platform.send("GET", path, ["Origin": "https://player.example"])
                #expect(answer.status == 200, "\(path)")
                #expect(answer.header("Access-Control-Allow-Origin") == "*", "\(path)")
                #expect(answer.header("Content-Type") == "text/javascript; charset=utf-8")
                for part in answer.body.split(separator: "\"") where part.hasPrefix("./") && part.hasSuffix(".mjs") {
                    rest.append("/assets/" + (part.split(separator: "/").last ?? ""))
                }
            }
            #expect(seen.count == 20, "\(seen)")
        }
    }

    @Test(
        "an unknown address is answered with text, because browsers show their own error page for an empty response",
        arguments: [
            ("/nothing", "text/plain; charset=utf-8"), ("/assets/nothing", "text/plain; charset=utf-8"),
            ("/pcast/nothing", "application/json"),
        ])
    func unknownAddress(path: String, type: String) async throws {
        try await TestPlatform.run { platform in
            let answer = try await platform.send("GET", path)
            #expect(answer.status == 404)
            #expect(answer.header("Content-Type") == type)
            #expect(!answer.body.isEmpty)
        }
    }

    @Test("the overlay's address ends with a slash, on which the addresses in the page depend")
    func overlayAddress() async throws {
        try await TestPlatform.run { platform in
            let request = try await RawRequest(platform, lines: ["GET /overlay HTTP/1.1", "Host: 127.0.0.1"])
            #expect(try await request.statuses(1) == [308])
            #expect(try await eventually { request.text.lowercased().contains("location: /overlay/\r\n") })
            try await request.close()
        }
    }

    @Test(
        "pages load nothing from other sites and run no inline script",
        arguments: ["/", "/publish", "/watch/x", "/channel/x"])
    func policy(path: String) async throws {
        try await TestPlatform.run { platform in
            let answer = try await platform.send("GET", path)
            let policy = try #require(answer.header("Content-Security-Policy"))
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self';"))
            #expect(!policy.contains("unsafe"))
            #expect(!answer.body.contains("style="))
            #expect(!answer.body.contains("<script>") && !answer.body.contains("onclick"))
            #expect(!answer.body.contains("src=\"http") && !answer.body.contains("href=\"http"))
        }
    }

    @Test("the snippet for embedding contains the name of the stream with “<” escaped") func snippet() async throws {
        try await TestPlatform.run { platform in
            let script = try await platform.send("GET", "/assets/watch.js").body
            #expect(script.contains(#"JSON.stringify(stream).replaceAll("<", "\\u003c")"#))
            #expect(script.split(separator: "JSON.stringify(stream)").count == 2)
        }
    }

    @Test(
        "a page preloads each module that its script imports, so that they arrive together",
        arguments: [
            ("/watch/x", "/assets/watch.js"), ("/publish", "/assets/publish.js"),
            ("/channel/x", "/assets/channel.js"),
        ])
    func preloads(page: String, script: String) async throws {
        try await TestPlatform.run { platform in
            let start = "<link rel=\"modulepreload\" href=\""
            let preloaded = try await platform.send("GET", page).body.components(separatedBy: start).dropFirst()
                .map { String($0.prefix { $0 != "\"" }) }
            var rest = [script]
            var imported: Set<String> = []
            while let path = rest.popLast() {
                let body = try await platform.send("GET", path).body
                for part in body.components(separatedBy: " from \"").dropFirst() {
                    let name = part.prefix { $0 != "\"" }
                    let isRelative = name.hasPrefix("./")
                    // The documentation in the modules has examples of other sites.
                    guard isRelative || name.hasPrefix("/") else { continue }
                    let module = isRelative ? "/assets/" + (name.split(separator: "/").last ?? "") : String(name)
                    if imported.insert(module).inserted { rest.append(module) }
                }
            }
            #expect(imported.count > 10 && Set(preloaded) == imported && preloaded.count == imported.count)
        }
    }

    @Test("all linked resources exist") func links() async throws {
        try await TestPlatform.run { platform in
            for page in ["/", "/publish", "/watch/x", "/channel/x"] {
                let body = try await platform.send("GET", page).body
                for part in body.split(separator: "\"") where part.hasPrefix("/assets/") {
                    #expect(try await platform.send("GET", String(part)).status == 200)
                }
            }
        }
    }

    @Test(
        "all other paths answer 404",
        arguments: [
            "/nowhere", "/assets/none.js", "/assets/", "/assets/../Package.swift", "/assets/%2e%2e%2fPackage.swift",
            "/watch/a/b", "/ws", "/index.html", "/whip/resource",
        ])
    func notFound(path: String) async throws {
        try await TestPlatform.run { platform async throws in
            #expect(try await platform.send("GET", path).status == 404)
        }
    }
}
