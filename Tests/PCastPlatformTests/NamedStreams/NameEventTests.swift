import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import PCast
import PCastCore
import PCastDatabase
import Testing

@testable import PCastPlatform

/// The events of declared streams for clients with a role of the management API.
@Suite("Events of names", .timeLimit(.minutes(5)))
struct NameEventTests {
    private static let first = ApplicationID("first")

    private func event(_ name: String, of application: ApplicationID = first) -> NameEventRecord {
        NameEventRecord(
            application: application, name: name, stream: StreamID("stream-\(name)"), kind: .ready,
            time: WallTime(millisecondsSinceEpoch: 1_790_000_000_000))
    }

    /// Returns the identifier in the last line of a text that has one.
    private func lastID(_ text: String) throws -> String {
        let line = try #require(text.split(separator: "\n").last { $0.hasPrefix("id: ") })
        return String(line.dropFirst(4))
    }

    /// Returns the text that a reader with a last identifier receives, and that of a second read.
    private func read(_ log: NameEventLog, after id: String?) throws -> (first: String, second: String) {
        var reader = try #require(log.reader(of: Self.first, after: id))
        let text = log.read(&reader)
        return (text, log.read(&reader))
    }

    /// Returns the names of the events in a text.
    private func names(_ text: String) -> [String] {
        text.matches(of: /"name":"([^"]*)"/).map { String($0.1) }
    }

    // MARK: The log

    @Test("a reader receives the events of its application from now on, and one that returns those since its last one")
    func positions() throws {
        let log = NameEventLog()
        log.append(event("a"))
        var reader = try #require(log.reader(of: Self.first, after: nil))
        let past = log.read(&reader)
        #expect(past.isEmpty)
        let beginning = try lastID(log.beginning(at: reader.position))
        log.append(event("b"))
        log.append(event("x", of: ApplicationID("second")))
        let text = log.read(&reader)
        let prefix = beginning.dropLast()
        #expect(
            text == "id: \(prefix)2\nevent: ready\ndata: {\"name\":\"b\",\"streamId\":\"stream-b\","
                + "\"timestamp\":\"2026-09-21T14:13:20.000Z\"}\n\n")
        let rest = log.read(&reader)
        #expect(rest.isEmpty)
        log.append(event("c"))
        let returned = try read(log, after: try lastID(text)).first
        #expect(names(returned) == ["c"])
        // A client may have received no event in its first response.
        let early = try read(log, after: beginning).first
        #expect(names(early) == ["b", "c"])
        #expect(!early.contains("missed"))
    }

    @Test("a reader that is too slow, or that comes from another process, receives that events are missing")
    func gaps() throws {
        let log = NameEventLog()
        var slow = try #require(log.reader(of: Self.first, after: nil))
        let count = NameEventLog.capacity + 1
        for number in 1...count { log.append(event("\(number)")) }
        let text = log.read(&slow)
        #expect(text.contains("event: missed\ndata: {}\n\n"))
        let kept = names(text)
        #expect(kept.count >= NameEventLog.capacity / 2)
        #expect(kept == ((count - kept.count + 1)...count).map { "\($0)" })
        let rest = log.read(&slow)
        #expect(rest.isEmpty)
        for id in ["", "x", "other-1", "-", try lastID(text) + "0"] {
            let (first, second) = try read(log, after: id)
            #expect(first.contains("event: missed"), "\(id)")
            #expect(names(first) == kept, "\(id)")
            #expect(second.isEmpty)
        }
    }

    @Test("an application has a maximum number of readers, whose places are free when they have gone")
    func maximum() throws {
        let log = NameEventLog()
        var readers: [NameEventLog.Reader] = []
        for _ in 0..<NameEventLog.maximumReaders {
            readers.append(try #require(log.reader(of: Self.first, after: nil)))
        }
        #expect(log.reader(of: Self.first, after: nil) == nil)
        #expect(log.reader(of: ApplicationID("second"), after: nil) != nil)
        readers.removeLast()
        #expect(log.reader(of: Self.first, after: nil) != nil)
    }

    @Test("an event wakes the readers of its application, and the end of the log ends them")
    func wakes() async throws {
        let log = NameEventLog()
        let reader = try #require(log.reader(of: Self.first, after: nil))
        var wakes = reader.wakes.makeAsyncIterator()
        log.append(event("a"))
        let wake: Void? = await wakes.next()
        #expect(wake != nil)
        log.finish()
        let end: Void? = await wakes.next()
        #expect(end == nil)
        let late = try #require(log.reader(of: Self.first, after: nil))
        var wakesOfLate = late.wakes.makeAsyncIterator()
        let none: Void? = await wakesOfLate.next()
        #expect(none == nil)
    }

    // MARK: The platform

    private static func authorization(_ application: PlatformConfiguration.Application) -> String {
        "Basic " + Base64.encode(Array("\(application.id):\(application.secret)".utf8))
    }

    private func open(
        _ platform: TestPlatform, _ application: PlatformConfiguration.Application = TestPlatform.application,
        after id: String? = nil
    ) async throws -> HTTPClientResponse {
        var request = HTTPClientRequest(url: platform.uri + ManagementAPI.nameEventsPath)
        request.headers.add(name: "Authorization", value: Self.authorization(application))
        if let id { request.headers.add(name: "Last-Event-ID", value: id) }
        return try await HTTPClient.shared.execute(request, timeout: .hours(1))
    }

    /// Reads a response until its text satisfies a condition, or until it ends.
    private func read(
        _ response: HTTPClientResponse, until isEnough: (String) -> Bool = { _ in false }
    ) async throws -> String {
        var text = ""
        for try await bytes in response.body {
            text += String(buffer: bytes)
            if isEnough(text) { break }
        }
        return text
    }

    /// Lets a viewer demand the source, which cannot be opened. The request waits for the source until it is cancelled.
    private func demand(_ platform: TestPlatform) -> Task<Void, Never> {
        Task { _ = try? await platform.post("/whep/camera", Offers.viewer()) }
    }

    private func run(_ body: (TestPlatform) async throws -> Void) async throws {
        var camera = StreamDeclaration(name: "camera")
        camera.source = "rtsp://127.0.0.1:9/none"
        camera.isOnDemand = true
        let declared = try StreamDeclarations([camera])
        try await TestPlatform.runConfigured { configuration in
            configuration.jobs = JobConfiguration(program: "/bin/false", arguments: [])
            configuration.streams = declared
        } _: { platform in
            try await body(platform)
        }
    }

    @Test("an application receives the events of its names, and no other one does")
    func ownEvents() async throws {
        let (responses, received) = AsyncStream.makeStream(of: HTTPClientResponse.self)
        try await run { platform in
            let own = try await open(platform)
            #expect(own.status == .ok)
            #expect(own.headers.first(name: "Content-Type") == "text/event-stream")
            #expect(own.headers.first(name: "Access-Control-Allow-Origin") == "*")
            received.yield(try await open(platform, TestPlatform.otherApplication))
            let viewer = demand(platform)
            defer { viewer.cancel() }
            let text = try await read(own) { $0.contains("event: demanded") && $0.hasSuffix("\n\n") }
            #expect(text.hasPrefix("retry: 1000\nid: "))
            #expect(text.contains("\"name\":\"camera\""))
            // One that returns receives the event again if it has not known it.
            let beginning = try #require(text.split(separator: "\n").first { $0.hasPrefix("id: ") })
            let again = try await open(platform, after: String(beginning.dropFirst(4)))
            let repeated = try await read(again) { $0.contains("event: demanded") }
            #expect(repeated.contains("\"name\":\"camera\""))
        }
        // The platform has stopped, which ends the response.
        let other = try await read(try #require(await responses.first { _ in true }))
        #expect(other.hasPrefix("retry: 1000\nid: "))
        #expect(!other.contains("event: "))
    }

    @Test("the events need the credentials of an application, and HEAD has no content")
    func rights() async throws {
        try await run { platform in
            let path = ManagementAPI.nameEventsPath
            #expect(try await platform.send("GET", path).status == 401)
            let viewing = try Tokens.viewing()
            #expect(try await platform.send("GET", path, ["Authorization": "Bearer \(viewing)"]).status == 401)
            #expect(try await platform.ask("POST", path).status == 405)
            // More of them than there are places for readers.
            for _ in 0...NameEventLog.maximumReaders {
                #expect(try await platform.ask("HEAD", path).status == 200)
            }
        }
    }

    // MARK: The SDK

    @Test("the SDK receives the events in order, after it is online")
    func client() async throws {
        try await run { platform in
            let client = PCast(PCastOptions(uri: platform.uri))
            let updates = try client.namedStreamUpdates(
                .application("\(TestPlatform.application.id)", secret: TestPlatform.application.secret))
            var iterator = updates.makeAsyncIterator()
            let first = try await iterator.next()
            #expect(first == .online)
            let viewer = demand(platform)
            defer { viewer.cancel() }
            guard case .event(let event)? = try await iterator.next() else {
                Issue.record("no event")
                return
            }
            #expect(event.kind == .demanded)
            #expect(event.name == "camera")
            #expect(event.streamID == nil && event.publisherID == nil && event.reason == nil)
        }
    }

    @Test("the updates of the SDK end if the credentials are rejected, or without a platform")
    func rejected() async throws {
        try await run { platform in
            let client = PCast(PCastOptions(uri: platform.uri))
            let updates = try client.namedStreamUpdates(
                .application("\(TestPlatform.application.id)", secret: "another"))
            do {
                for try await update in updates { Issue.record("an update: \(update)") }
                Issue.record("no error")
            } catch {
                #expect((error as? PCastError)?.status == .unauthorized)
            }
        }
        let error = #expect(throws: PCastError.self) { try PCast().namedStreamUpdates(.token { "" }) }
        #expect(error?.status == .badRequest)
    }
}
