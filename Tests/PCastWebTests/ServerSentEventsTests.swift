import PCastWeb
import Testing

/// The parser of server-sent events.
@Suite("Server-sent events")
struct ServerSentEventsTests {
    private func parse(_ text: String, piece: Int = .max) throws -> (events: [ServerSentEvents.Event], lastID: String) {
        var parser = ServerSentEvents()
        var events: [ServerSentEvents.Event] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            events += try parser.parse(rest.prefix(piece))
            rest = rest.dropFirst(piece)
        }
        return (events, parser.lastID)
    }

    @Test("events are the same for each end of lines and each division into pieces", arguments: ["\n", "\r\n", "\r"])
    func lines(_ end: String) throws {
        let text = [
            "\u{FEFF}retry: 1000", "id: 1", "", ": a comment", "event: a", "data: one", "data:two", "data", "",
            "data:  x", "id: 2", "", "event: without data", "", "data: ü", "id: 3", "",
        ].joined(separator: end)
        for piece in [1, 2, 3, 7, Int.max] {
            let (events, lastID) = try parse(text + end, piece: piece)
            #expect(
                events == [
                    ServerSentEvents.Event(type: "a", data: "one\ntwo\n"),
                    ServerSentEvents.Event(type: "message", data: " x"),
                    ServerSentEvents.Event(type: "message", data: "ü"),
                ])
            #expect(lastID == "3")
        }
    }

    @Test("an event that is not complete has no effect, and neither has an identifier with a null character")
    func incomplete() throws {
        let (events, lastID) = try parse("data: a\nid: 1\n\nid: 2\ndata: b\n")
        #expect(events.map(\.data) == ["a"])
        #expect(lastID == "1")
        #expect(try parse("id: 1\n\nid: 2\0\ndata: c\n\n").lastID == "1")
    }

    @Test("an event that is too large is an error, and comments are no part of it")
    func limit() throws {
        var parser = ServerSentEvents(limit: 100)
        for _ in 0..<100 { _ = try parser.parse(Array(": 0123456789\n".utf8)) }
        let events = try parser.parse(Array("data: 0123456789\n\n".utf8))
        #expect(events.count == 1)
        let lines = String(repeating: "data: 0123456789\n", count: 10)
        #expect(throws: ServerSentEvents.TooLarge.self) {
            var parser = ServerSentEvents(limit: 100)
            return try parser.parse(Array(lines.utf8))
        }
    }
}

/// The fields of a streaming download.
@Suite("Fields of downloads")
struct HTTPDownloadFieldTests {
    @Test("the server receives the fields, and another one to which it redirects does not")
    func fields() async throws {
        try await TestServer.run { server in
            try await TestServer.run { other async throws in
                for (path, received) in [
                    ("/authorization", "Basic x"), ("/moved-to/\(server.port)", "Basic x"),
                    ("/moved-to/\(other.port)", "none"),
                ] {
                    let (pieces, continuation) = AsyncStream.makeStream(of: [UInt8].self)
                    let head = try await HTTPDownload.get(
                        server.uri + path, limit: 1_000, timeout: .seconds(600),
                        fields: [(name: "Authorization", value: "Basic x")]
                    ) { _, bytes in
                        continuation.yield(bytes)
                        return true
                    }
                    continuation.finish()
                    #expect(head.status == 200)
                    let content = await pieces.reduce(into: [UInt8]()) { $0 += $1 }
                    #expect(String(decoding: content, as: UTF8.self) == received, "\(path)")
                }
            }
        }
    }
}
