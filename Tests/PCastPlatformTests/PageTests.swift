import Crypto
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
            ("/assets/watch-start.js", "text/javascript; charset=utf-8"),
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
            #expect(seen.count == 22, "\(seen)")
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
        "pages load nothing from other sites and run no script in the page but those of the policy",
        arguments: ["/", "/publish", "/watch/x", "/channel/x"])
    func policy(path: String) async throws {
        try await TestPlatform.run { platform in
            let answer = try await platform.send("GET", path)
            let policy = try #require(answer.header("Content-Security-Policy"))
            let (markup, scripts) = Self.scripts(in: answer.body)
            let sources = scripts.map { " 'sha256-\(Data(SHA256.hash(data: Data($0.utf8))).base64EncodedString())'" }
            #expect(
                policy.hasPrefix("default-src 'none'; script-src 'self'\(sources.joined()); style-src 'self';"))
            #expect(scripts.count == (path == "/watch/x" ? 2 : 0))
            #expect(!policy.contains("unsafe"))
            #expect(!markup.contains("style=") && !markup.contains("onclick"))
            #expect(!markup.contains("src=\"http") && !markup.contains("href=\"http"))
        }
    }

    /// Returns a page without the text of its scripts, and these texts.
    private static func scripts(in page: String) -> (markup: String, scripts: [String]) {
        var (markup, scripts): (String, [String]) = ("", [])
        for part in page.components(separatedBy: "</script>") {
            // The snippet for embedding is within a script.
            guard let tag = part.range(of: "<script"), let end = part[tag.upperBound...].firstIndex(of: ">") else {
                markup += part
                continue
            }
            markup += part[...end]
            let text = String(part[part.index(after: end)...])
            if !text.isEmpty { scripts.append(text) }
        }
        return (markup, scripts)
    }

    @Test("the watch page contains its scripts with all modules that they import, and each module once")
    func bundle() async throws {
        try await TestPlatform.run { platform in
            let page = try await platform.send("GET", "/watch/x").body
            let scripts = Self.scripts(in: page).scripts
            try #require(scripts.count == 2)
            for name in ["pcast.js", "session.mjs", "viewer-session.mjs", "watch-start.js"] {
                #expect(scripts[0].contains("pcastModules[\"\(name)\"] = "), "\(name)")
            }
            for name in ["viewer.mjs", "hls.mjs", "overlay.mjs", "captions.js", "seek.js", "watch.js"] {
                #expect(scripts[1].contains("pcastModules[\"\(name)\"] = "), "\(name)")
            }
            let lines = scripts.joined(separator: "\n").split(separator: "\n")
            let defined = lines.filter { $0.hasPrefix("pcastModules[") }
            #expect(Set(defined).count == defined.count)
            #expect(!lines.contains { $0.hasPrefix("import ") || $0.hasPrefix("export ") || $0.hasPrefix("//") })
            // The offer is sent before the style sheet is requested, and the rest follows the elements that it uses.
            let (start, rest) = (try #require(page.range(of: scripts[0])), try #require(page.range(of: scripts[1])))
            let styles = try #require(page.range(of: "<link rel=\"stylesheet\""))
            let elements = try #require(page.range(of: "</main>"))
            #expect(start.upperBound < styles.lowerBound && elements.upperBound < rest.lowerBound)
            #expect(!page.contains("src=\"/assets/watch") && !page.contains("modulepreload"))
        }
    }

    @Test(
        "pages and files are sent with gzip to clients that accept it, and not again while they are current",
        arguments: ["/watch/x", "/publish", "/channel/x", "/pcast.mjs", "/assets/viewer.mjs", "/assets/pcast.css"])
    func caching(path: String) async throws {
        try await TestPlatform.run { platform in
            var tags: [String] = []
            var bodies: [String] = []
            for coding in ["identity", "gzip"] {
                let first = try await platform.send("GET", path, ["Accept-Encoding": coding])
                #expect(first.status == 200)
                #expect(first.header("Content-Encoding") == (coding == "gzip" ? "gzip" : nil))
                #expect(first.header("Vary") == "Accept-Encoding")
                let tag = try #require(first.header("ETag"))
                tags.append(tag)
                bodies.append(first.body)
                for condition in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
                    let again = try await platform.send(
                        "GET", path, ["Accept-Encoding": coding, "If-None-Match": condition])
                    #expect(again.status == 304, "\(condition)")
                    #expect(again.body.isEmpty && again.header("ETag") == tag)
                    #expect(again.header("Cache-Control") == "no-cache")
                    #expect(again.header("Content-Security-Policy") == first.header("Content-Security-Policy"))
                }
                let other = try await platform.send(
                    "GET", path, ["Accept-Encoding": coding, "If-None-Match": "\"other\""])
                #expect(other.status == 200 && other.body == first.body)
            }
            #expect(tags[0] != tags[1] && bodies[0] == bodies[1])
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
            ("/publish", "/assets/publish.js"), ("/channel/x", "/assets/channel.js"),
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
