import PCastWeb
import Synchronization
import Testing

/// The end of a server, and the timeout of a client.
@Suite struct EndingTests {
    @Test("a server that ends closes its connections: idle or not, and WebSockets") func serverEnds() async throws {
        var asked: RawConnection?
        var silent: RawConnection?
        let client = Mutex<Task<Void, any Error>?>(nil)
        try await TestServer.run { server in
            let connection = RawConnection(port: server.port)
            try await connection.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await eventually { connection.text.hasSuffix("hello") })
            asked = connection
            let other = RawConnection(port: server.port)
            // Without bytes, this only connects.
            try await other.send([])
            silent = other
            let (opened, open) = AsyncStream<Void>.makeStream()
            let uri = server.uri + "/ws"
            let task = Task {
                try await WebSocketClient().connect(to: uri) { connection in
                    open.yield()
                    try await connection.forEachMessage { _ in }
                }
            }
            client.withLock { $0 = task }
            _ = await opened.first { _ in true }
        }
        #expect(try await eventually { asked!.isClosed && silent!.isClosed })
        try await client.withLock { $0 }?.value
    }

    @Test("too large a header is answered 431") func largeHeader() async throws {
        try await TestServer.run { server in
            let connection = RawConnection(port: server.port)
            try await connection.send(
                "GET /hello HTTP/1.1\r\nX: " + String(repeating: "a", count: 100_000) + "\r\n\r\n")
            #expect(try await eventually { connection.text.hasPrefix("HTTP/1.1 431 ") })
        }
    }
}
