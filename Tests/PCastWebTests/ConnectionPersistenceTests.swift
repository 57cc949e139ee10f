import Hummingbird
import NIOCore
import PCastWeb
import Synchronization
import Testing

/// The end of a connection, and the time for a client's content (RFC 9112, section 9.3; RFC 9110, section 10.1.1).
@Suite struct ConnectionPersistenceTests {
    private func connection(_ server: TestServer, _ lines: [String], _ body: String = "") async throws -> RawConnection
    {
        let connection = RawConnection(port: server.port)
        try await connection.send((lines + ["", ""]).joined(separator: "\r\n") + body)
        return connection
    }

    @Test(
        "after these requests the connection is closed",
        arguments: [
            ["GET /hello HTTP/1.0"], ["GET /hello HTTP/1.0", "Host: a"], ["GET /hello HTTP/1.0", "Connection: close"],
            ["GET /hello HTTP/1.0", "Connection: keep-alive, close"],
            ["GET /hello HTTP/1.1", "Host: a", "Connection: close"],
            ["GET /hello HTTP/1.1", "Host: a", "Connection: Close"],
            ["GET /hello HTTP/1.1", "Host: a", "Connection: TE, close"], ["GET /nowhere HTTP/1.0"],
            ["HEAD /hello HTTP/1.0"],
        ])
    func closes(lines: [String]) async throws {
        try await TestServer.run { server in
            let connection = try await connection(server, lines)
            #expect(try await eventually { connection.isClosed })
            #expect(connection.text.hasPrefix("HTTP/1."))
            #expect(connection.text.lowercased().contains("\r\nconnection: close\r\n"))
            if lines[0].hasPrefix("GET /hello") { #expect(connection.text.hasSuffix("\r\n\r\nhello")) }
        }
    }

    @Test(
        "after these requests the connection stays open, and the next one is answered",
        arguments: [
            ["GET /hello HTTP/1.1", "Host: a"], ["GET /hello HTTP/1.0", "Connection: keep-alive"],
            ["GET /hello HTTP/1.0", "Connection: Keep-Alive, TE"],
            ["GET /hello HTTP/1.1", "Host: a", "Connection: TE"],
        ])
    func stays(lines: [String]) async throws {
        try await TestServer.run { server in
            let connection = try await connection(server, lines)
            #expect(try await eventually { connection.text.hasSuffix("hello") })
            let isOld = lines[0].hasSuffix("1.0")
            #expect(connection.text.lowercased().contains("connection: keep-alive") == isOld)
            try await connection.send("GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            #expect(try await eventually { connection.isClosed })
            #expect(connection.text.split(separator: "HTTP/1.1 200").count == 2)
        }
    }

    @Test("requests after a last request are not answered") func afterTheLast() async throws {
        try await TestServer.run { server in
            let connection = try await connection(
                server, ["GET /hello HTTP/1.0"], "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await eventually { connection.isClosed })
            #expect(connection.text.split(separator: "HTTP/1.1 200").count == 1)
        }
    }

    @Test("a response of unknown length to HTTP/1.0 has no chunks, and ends with its connection") func unknownLength()
        async throws
    {
        try await TestServer.run { server in
            let connection = try await connection(server, ["GET /stream HTTP/1.0", "Connection: keep-alive"])
            #expect(try await eventually { connection.isClosed })
            #expect(connection.text.hasPrefix("HTTP/1.0 200") && connection.text.hasSuffix("\r\n\r\none two"))
            #expect(!connection.text.lowercased().contains("transfer-encoding"))
            let newer = try await self.connection(server, ["GET /stream HTTP/1.1", "Host: a"])
            #expect(try await eventually { newer.text.hasSuffix("0\r\n\r\n") })
        }
    }

    @Test("a large body is written in pieces, with its length") func pieces() async throws {
        try await TestServer.run { server in
            let connection = try await connection(server, ["GET /large HTTP/1.1", "Host: a", "Connection: close"])
            #expect(try await eventually { connection.isClosed })
            let text = connection.text.lowercased()
            #expect(text.contains("content-length: 200000\r\n") && !text.contains("transfer-encoding"))
            #expect(text.hasSuffix("\r\n\r\n" + String(repeating: "a", count: 200_000)))
        }
        let expected = [200_000: [65_536, 65_536, 65_536, 3_392], 65_536: [65_536], 131_072: [65_536, 65_536]]
        for (size, sizes) in expected {
            let writer = RecordingWriter()
            try await ResponseBody(inPieces: ByteBuffer(repeating: 1, count: size)).write(writer)
            #expect(writer.record.sizes.withLock { $0 } == sizes)
        }
    }

    // MARK: Expect

    private static func post(_ path: String, _ more: [String]) -> [String] {
        ["POST \(path) HTTP/1.1", "Host: a"] + more
    }

    @Test(
        "the interim response precedes the content, for every case of the header",
        arguments: ["100-continue", "100-Continue", " 100-CONTINUE "])
    func interim(expectation: String) async throws {
        try await TestServer.run { server in
            let connection = try await connection(
                server, Self.post("/length", ["Expect: \(expectation)", "Content-Length: 5"]))
            #expect(try await eventually { connection.text.hasSuffix("\r\n\r\n") })
            #expect(connection.text.hasPrefix("HTTP/1.1 100 Continue\r\n"))
            try await connection.send("12345")
            #expect(try await eventually { connection.text.contains("HTTP/1.1 200") && connection.text.hasSuffix("5") })
            #expect(!connection.isClosed)
            // The connection continues, also with chunks.
            try await connection.send(
                "POST /length HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n")
            #expect(try await eventually { connection.text.split(separator: "100 Continue").count == 3 })
            try await connection.send("3\r\nabc\r\n0\r\n\r\n")
            #expect(try await eventually { connection.text.hasSuffix("3") })
        }
    }

    @Test("if the content is not needed, only the final response is sent, and the connection ends")
    func unwanted() async throws {
        try await TestServer.run { server in
            for path in ["/refused", "/nowhere"] {
                let connection = try await connection(
                    server, Self.post(path, ["Expect: 100-continue", "Content-Length: 5"]))
                #expect(try await eventually { connection.isClosed })
                #expect(!connection.text.contains("100 Continue") && connection.text.contains("HTTP/1.1 40"))
                #expect(connection.text.lowercased().contains("connection: close"))
            }
        }
    }

    @Test("another expectation is 417", arguments: ["200-ok", "100-continue, wonders", "x=y"])
    func unknown(expectation: String) async throws {
        try await TestServer.run { server in
            let connection = try await connection(
                server, Self.post("/length", ["Expect: \(expectation)", "Content-Length: 5"]))
            #expect(try await eventually { connection.text.hasPrefix("HTTP/1.1 417 ") && connection.isClosed })
        }
    }

    @Test("an expectation of HTTP/1.0 is ignored") func ofHTTP10() async throws {
        try await TestServer.run { server in
            for expectation in ["100-continue", "wonders"] {
                let connection = try await connection(
                    server, ["POST /length HTTP/1.0", "Expect: \(expectation)", "Content-Length: 5"], "12345")
                #expect(try await eventually { connection.isClosed })
                #expect(connection.text.hasPrefix("HTTP/1.1 200") && connection.text.hasSuffix("5"))
            }
        }
    }

    @Test("pipelined requests are answered in order, with an expectation between them") func pipelined()
        async throws
    {
        try await TestServer.run { server in
            let connection = try await connection(
                server, ["GET /hello HTTP/1.1", "Host: a"],
                "POST /length HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab"
                    + "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            #expect(try await eventually { connection.isClosed })
            let statuses = connection.text.split(separator: "HTTP/1.1 ").map { String($0.prefix(3)) }
            #expect(statuses == ["200", "100", "200", "200"])
        }
    }
}

/// A writer that records the sizes of the pieces of a body.
private struct RecordingWriter: ResponseBodyWriter {
    final class Record: Sendable {
        let sizes = Mutex<[Int]>([])
    }

    let record = Record()

    mutating func write(_ buffer: ByteBuffer) async throws {
        record.sizes.withLock { $0.append(buffer.readableBytes) }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
