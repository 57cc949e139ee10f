import PCastWeb
import Synchronization
import Testing

/// WebSockets frame by frame: RFC 6455.
@Suite struct WebSocketTests {
    private func withSocket(_ body: (RawConnection) async throws -> Void) async throws {
        try await TestServer.run { server in
            let connection = RawConnection(port: server.port)
            let head = try await connection.upgrade()
            #expect(head.hasPrefix("HTTP/1.1 101 "))
            // The example of section 1.3.
            #expect(head.lowercased().contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="))
            try await body(connection)
        }
    }

    /// Expects the received bytes and, after a close frame, nothing but the end.
    private func expectFrames(_ connection: RawConnection, _ expected: [UInt8], closes: Bool = false) async throws {
        #expect(try await eventually { connection.frames.count >= expected.count })
        if closes { #expect(try await eventually { connection.isClosed }) }
        #expect(connection.frames == expected)
    }

    @Test(
        "text and binary messages arrive complete, for every length",
        arguments: [0, 1, 125, 126, 65_535, 65_536, 262_144])
    func lengths(count: Int) async throws {
        try await TestServer.run { server in
            try await WebSocketClient().connect(to: server.uri + "/ws") { connection in
                let sent = [
                    WebSocketMessage.binary((0..<count).map { UInt8(truncatingIfNeeded: $0) }),
                    .text(String(repeating: "x", count: count)),
                ]
                for message in sent { try await connection.send(message) }
                let received = Mutex<[WebSocketMessage]>([])
                try await connection.forEachMessage { message in
                    received.withLock { $0.append(message) }
                    if received.withLock({ $0.count }) == 2 { await connection.close() }
                }
                #expect(received.withLock { $0 } == sent)
            }
        }
    }

    @Test("fragments are combined, with a ping between them") func fragments() async throws {
        try await withSocket { connection in
            try await connection.send(frame(1, Array("Hel".utf8), isFinal: false))
            try await connection.send(frame(9, Array("?".utf8)))
            try await connection.send(frame(0, [], isFinal: false))
            try await connection.send(frame(0, Array("lo".utf8)))
            try await expectFrames(
                connection, frame(10, Array("?".utf8), isMasked: false) + frame(1, Array("Hello".utf8), isMasked: false)
            )
        }
    }

    @Test("a frame in single bytes is a frame") func singleBytes() async throws {
        try await withSocket { connection in
            for byte in frame(1, Array("slow".utf8)) { try await connection.send([byte]) }
            try await expectFrames(connection, frame(1, Array("slow".utf8), isMasked: false))
        }
    }

    @Test("a ping is answered with its own payload, and a pong is not") func pings() async throws {
        try await withSocket { connection in
            try await connection.send(frame(10, [7]) + frame(9, [1, 2, 3]))
            try await expectFrames(connection, frame(10, [1, 2, 3], isMasked: false))
        }
    }

    @Test("a close is answered with its code, and the connection ends") func closes() async throws {
        try await withSocket { connection in
            try await connection.send(frame(8, [0x03, 0xE8]))
            try await expectFrames(connection, frame(8, [0x03, 0xE8], isMasked: false), closes: true)
        }
    }

    @Test("an unmasked frame closes the connection with 1002") func unmasked() async throws {
        try await withSocket { connection in
            try await connection.send(frame(1, Array("bare".utf8), isMasked: false))
            try await expectFrames(connection, frame(8, [0x03, 0xEA], isMasked: false), closes: true)
        }
    }

    @Test(
        "reserved bits and fragments of nothing close with 1002",
        arguments: [
            frame(1, [0x41], bits: 0x40), frame(1, [0x41], bits: 0x10), frame(0, [0x41]),
            frame(1, [0x41], isFinal: false) + frame(1, [0x42]),
        ])
    func brokenFrames(bytes: [UInt8]) async throws {
        try await withSocket { connection in
            try await connection.send(bytes)
            try await expectFrames(connection, frame(8, [0x03, 0xEA], isMasked: false), closes: true)
        }
    }

    @Test("a frame that announces more than the limit closes with 1009 at once") func tooLargeFrame() async throws {
        try await withSocket { connection in
            let large = frame(2, [UInt8](repeating: 0, count: WebSocketConnection.messageSizeLimit + 1))
            try await connection.send(Array(large.prefix(14)))
            try await expectFrames(connection, frame(8, [0x03, 0xF1], isMasked: false), closes: true)
        }
    }

    @Test("fragments that grow beyond the limit close with 1009") func tooLargeMessage() async throws {
        try await withSocket { connection in
            let half = [UInt8](repeating: 0, count: WebSocketConnection.messageSizeLimit / 2)
            try await connection.send(frame(2, half, isFinal: false))
            try? await connection.send(frame(0, half, isFinal: false) + frame(0, [1]))
            try await expectFrames(connection, frame(8, [0x03, 0xF1], isMasked: false), closes: true)
        }
    }

    @Test("an unlimited number of fragments closes with 1009") func tooManyFragments() async throws {
        try await withSocket { connection in
            var bytes = frame(2, [1], isFinal: false)
            for _ in 0..<1100 { bytes += frame(0, [1], isFinal: false) }
            try? await connection.send(bytes)
            try await expectFrames(connection, frame(8, [0x03, 0xF1], isMasked: false), closes: true)
        }
    }

    @Test("other paths open no WebSocket: 404", arguments: ["/", "/wsx", "/ws/", "/WS", "/hello/ws"])
    func wrongPath(path: String) async throws {
        try await TestServer.run { server async throws in
            let connection = RawConnection(port: server.port)
            #expect(try await connection.upgrade(path: path).hasPrefix("HTTP/1.1 404 "))
            await #expect(throws: WebError.self) {
                try await WebSocketClient().connect(to: server.uri + path) { _ in }
            }
        }
    }

    @Test(
        "a request for unsupported features is answered without them",
        arguments: [
            "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n",
            "Upgrade: websocket\r\nConnection: Upgrade\r\n", "Upgrade: websocket\r\n", "Connection: Upgrade\r\n",
        ])
    func otherUpgrades(headers: String) async throws {
        try await TestServer.run { server in
            let connection = RawConnection(port: server.port)
            try await connection.send("GET /hello HTTP/1.1\r\nHost: a\r\n\(headers)\r\n")
            #expect(try await eventually { connection.text.hasSuffix("\r\n\r\nhello") })
            #expect(connection.text.hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test(
        "a WebSocket of another version, or without a key, is not opened",
        arguments: [
            "Sec-WebSocket-Version: 12\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
            "Sec-WebSocket-Version: 13\r\n", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        ])
    func brokenHandshakes(headers: String) async throws {
        try await TestServer.run { server in
            let connection = RawConnection(port: server.port)
            try await connection.send(
                "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\(headers)\r\n")
            #expect(try await eventually { connection.text.contains("\r\n\r\n") })
            #expect(connection.text.hasPrefix("HTTP/1.1 404 "))
        }
    }

    @Test("the address of a WebSocket may have a query") func query() async throws {
        try await TestServer.run { server async throws in
            let connection = RawConnection(port: server.port)
            #expect(try await connection.upgrade(path: "/ws?a=b").hasPrefix("HTTP/1.1 101 "))
        }
    }

    @Test("the handler knows the origin of the request") func request() async throws {
        let seen = Mutex<[String?]>([])
        let handler: @Sendable (WebSocketConnection) async throws -> Void = { connection in
            seen.withLock { $0 = [connection.request?.host, connection.request?.origin] }
        }
        try await TestServer.run(webSocket: handler) { server in
            let connection = RawConnection(port: server.port)
            _ = try await connection.upgrade(headers: ["Origin: https://evil.example"])
            #expect(try await eventually { seen.withLock { $0 } == ["127.0.0.1", "https://evil.example"] })
        }
    }

    /// Connects with first messages, and returns all messages that the echoing server has sent back, of which `sent` are
    /// those of the body.
    private func echo(
        _ first: [String], sent: [String] = [], headers: [(name: String, value: String)] = []
    ) async throws -> [String] {
        let received = Mutex<[String]>([])
        try await TestServer.run { server in
            try await WebSocketClient().connect(to: server.uri + "/ws", headers: headers, firstMessages: { first }) {
                connection in
                for text in sent { try await connection.send(.text(text)) }
                try await connection.forEachMessage { message in
                    guard case .text(let text) = message else { return }
                    received.withLock { $0.append(text) }
                    if received.withLock({ $0.count }) == first.count + sent.count { await connection.close() }
                }
            }
        }
        return received.withLock { $0 }
    }

    @Test("messages in the request are read before the first frame, and the response confirms their number")
    func earlyMessages() async throws {
        #expect(try await echo(["Zmlyc3Q=", "c2Vjb25k"], sent: ["third"]) == ["Zmlyc3Q=", "c2Vjb25k", "third"])
        let kept = Mutex<[[String]]>([])
        let handler: @Sendable (WebSocketConnection) async throws -> Void = { connection in
            kept.withLock { $0.append(connection.request?.fields("PCast-Messages") ?? []) }
            try await connection.forEachMessage { try await connection.send($0) }
        }
        try await TestServer.run(webSocket: handler) { server in
            let connection = RawConnection(port: server.port)
            let head = try await connection.upgrade(headers: ["PCast-Messages: one,two"])
            #expect(head.lowercased().contains("pcast-messages: 2\r\n"))
            try await connection.send(frame(1, Array("three".utf8)))
            let frames = ["one", "two", "three"].flatMap { frame(1, Array($0.utf8), isMasked: false) }
            try await expectFrames(connection, frames)
            // An idle connection does not keep them.
            #expect(kept.withLock { $0 } == [[]])
        }
    }

    @Test(
        "first messages that the request may not have are sent as frames, in order",
        arguments: [
            [String](repeating: "a", count: 20), [String(repeating: "b", count: 7_001), "c"],
            ["d", String(repeating: "e", count: 6_999), "f"], ["with, comma", "g"], ["", "h"], ["\u{FC}"],
        ])
    func lateMessages(_ messages: [String]) async throws {
        #expect(try await echo(messages, sent: ["last"]) == messages + ["last"])
    }

    @Test("if the server does not read the messages in the request, they are sent as frames") func unreadMessages()
        async throws
    {
        // The server reads no field that occurs twice.
        #expect(try await echo(["i", "j"], headers: [("PCast-Messages", "x")]) == ["i", "j"])
    }

    @Test(
        "a field that is no list of messages is ignored",
        arguments: ["", ",", "a,,b", "a,", "a, b", "\u{FC}", "1,2,3,4,5,6,7,8,9", String(repeating: "c", count: 7_001)])
    func malformedMessages(_ value: String) async throws {
        try await TestServer.run { server in
            let connection = RawConnection(port: server.port)
            let head = try await connection.upgrade(headers: ["PCast-Messages: \(value)"])
            #expect(head.hasPrefix("HTTP/1.1 101 ") && !head.lowercased().contains("pcast-messages"))
            try await connection.send(frame(1, [65]))
            try await expectFrames(connection, frame(1, [65], isMasked: false))
        }
    }

    @Test("a reader that reads nothing blocks only its own sender, in constant memory") func slowReader() async throws {
        let sent = Mutex(0)
        let handler: @Sendable (WebSocketConnection) async throws -> Void = { connection in
            let message = WebSocketMessage.binary([UInt8](repeating: 0, count: 65_536))
            while true {
                try await connection.send(message)
                sent.withLock { $0 += 1 }
            }
        }
        try await TestServer.run(webSocket: handler) { server in
            let connection = RawConnection(port: server.port, reads: false)
            let request =
                "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
            try await connection.send(request)
            #expect(try await eventually { sent.withLock { $0 } > 0 })
            var before = -1
            var changed = ContinuousClock.now
            // Sending stops when the system's buffers are full, and one or two messages wait in the project's.
            #expect(
                try await eventually {
                    let now = sent.withLock { $0 }
                    if now != before { changed = .now }
                    before = now
                    return ContinuousClock.now - changed > .milliseconds(100)
                })
            // 64 MiB: far more than any socket's buffers.
            #expect(sent.withLock { $0 } < 1024)
            try await connection.close()
        }
    }

    @Test("a missing server, or one that is no web server, is an error with a sentence") func unreachable()
        async throws
    {
        let error = await #expect(throws: WebError.self) {
            try await WebSocketClient().connect(to: "ws://127.0.0.1:1/ws") { _ in }
        }
        #expect("\(try #require(error))".hasPrefix("no platform responds at ws://127.0.0.1:1/ws"))
    }
}
