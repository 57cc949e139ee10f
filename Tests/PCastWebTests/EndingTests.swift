import PCastCore
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

    @Test("a connection whose first request does not arrive in time is closed, and others are not")
    func firstRequestTimeout() async throws {
        let gate = CountingGate()
        try await TestServer.run(gate: gate, firstRequestTimeout: .seconds(3)) { server in
            let asked = RawConnection(port: server.port)
            try await asked.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await eventually { asked.text.hasSuffix("hello") })
            let opened = RawConnection(port: server.port)
            #expect(try await opened.upgrade().hasPrefix("HTTP/1.1 101 "))
            let silent = RawConnection(port: server.port)
            try await silent.send([])
            let slow = RawConnection(port: server.port)
            try await slow.send("GET /hello HTTP/1.1\r\nHost:")
            #expect(try await eventually { silent.isClosed && slow.isClosed })
            #expect(try await eventually { gate.counts == .init(admitted: 4, stoppedWaiting: 4, closed: 2) })
            #expect(!opened.isClosed)
            try await asked.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await eventually { asked.text.split(separator: "HTTP/1.1 200").count == 2 })
        }
    }

    @Test("the gate is notified once when a connection's first request arrives, or when it is closed before")
    func gate() async throws {
        let gate = CountingGate()
        try await TestServer.run(gate: gate, firstRequestTimeout: .seconds(600)) { server in
            let silent = RawConnection(port: server.port)
            let asked = RawConnection(port: server.port)
            for connection in [silent, asked] { try await connection.send([]) }
            #expect(try await eventually { gate.counts.admitted == 2 })
            #expect(gate.counts == .init(admitted: 2))
            try await asked.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await eventually { asked.text.hasSuffix("hello") })
            #expect(try await eventually { gate.counts == .init(admitted: 2, stoppedWaiting: 1) })
            try await silent.close()
            #expect(try await eventually { gate.counts == .init(admitted: 2, stoppedWaiting: 2, closed: 1) })
            try await asked.close()
            #expect(try await eventually { gate.counts == .init(admitted: 2, stoppedWaiting: 2, closed: 2) })
        }
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

/// A gate that accepts all connections and counts its notifications.
private final class CountingGate: ConnectionFilter {
    struct Counts: Equatable {
        var admitted = 0
        var stoppedWaiting = 0
        var closed = 0
    }

    private let state = Mutex(Counts())

    var counts: Counts { state.withLock { $0 } }

    func admits(_ address: IPAddress?) -> Bool {
        state.withLock { $0.admitted += 1 }
        return true
    }

    func stoppedWaiting(_ address: IPAddress?) { state.withLock { $0.stoppedWaiting += 1 } }

    func closed(_ address: IPAddress?) { state.withLock { $0.closed += 1 } }
}
