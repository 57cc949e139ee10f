import PCastCore
import PCastRTMP
import PCastWeb
import Synchronization
import Testing

@Suite struct RTMPListenerTests {
    /// The connections of a listener with their events.
    private final class Recorder: Sendable {
        struct Entry {
            let connection: RTMPConnection
            var events: [RTMPServerEvent] = []
        }

        private let entries = Mutex<[Entry]>([])

        var all: [Entry] { entries.withLock { $0 } }

        /// The events of the first connection.
        var events: [RTMPServerEvent] { all.first?.events ?? [] }

        func add(_ connection: RTMPConnection) -> RTMPListener.EventHandler {
            let index = entries.withLock { entries in
                entries.append(Entry(connection: connection))
                return entries.count - 1
            }
            return { events in self.entries.withLock { $0[index].events += events } }
        }
    }

    /// A gate that counts its notifications.
    private final class Gate: ConnectionFilter {
        let admission: Bool
        let counts = Mutex((waits: 0, ends: 0))

        init(admits admission: Bool) { self.admission = admission }

        func admits(_ address: IPAddress?) -> Bool { admission }
        func stoppedWaiting(_ address: IPAddress?) { counts.withLock { $0.waits += 1 } }
        func closed(_ address: IPAddress?) { counts.withLock { $0.ends += 1 } }
    }

    private static let handshake: [UInt8] = [3] + [UInt8](repeating: 0, count: 2 * 1_536)

    private static func bytes(_ messages: [RTMPMessage]) -> [UInt8] {
        var bytes: [UInt8] = []
        for message in messages { RTMPChunkWriter().write(message, chunkStream: 3, into: &bytes) }
        return bytes
    }

    private static func command(
        _ name: String, _ transaction: Double, _ arguments: [AMF0Value], stream: UInt32 = 0
    ) -> RTMPMessage {
        RTMPMessage(
            type: .command, streamID: stream,
            payload: RTMPCommand(name, transaction: transaction, arguments).payload)
    }

    /// The bytes of a client up to its request to publish.
    private static let publishing =
        handshake
        + bytes([
            command("connect", 1, [.object(["app": .string("ingest"), "capsEx": .number(1)])]),
            command("createStream", 2, [.null]),
            command("publish", 3, [.null, .string("key"), .string("live")], stream: 1),
        ])
    private static let media = bytes([
        RTMPMessage(type: .audio, streamID: 1, payload: [0xAF, 0, 0x11, 0x90]),
        RTMPMessage(type: .audio, streamID: 1, timestamp: 20, payload: [0xAF, 1, 1, 2, 3]),
    ])

    /// Runs a test with a listener on a free port.
    private func run(
        _ change: (inout RTMPListener.Options) -> Void = { _ in }, gate: Gate? = nil,
        _ body: (RTMPListener, Recorder) async throws -> Void
    ) async throws {
        var options = RTMPListener.Options(host: "127.0.0.1", port: 0)
        change(&options)
        let recorder = Recorder()
        let clock = ContinuousClock()
        let start = clock.now
        let listener = try await RTMPListener(
            options, gate: gate, clock: { Instant(nanoseconds: 0).advanced(by: start.duration(to: clock.now)) },
            onConnection: { recorder.add($0) })
        do {
            try await body(listener, recorder)
        } catch {
            await listener.stop()
            throw error
        }
        await listener.stop()
        #expect(listener.connectionCount == 0)
    }

    private static func isRequest(_ event: RTMPServerEvent) -> Bool {
        if case .publishRequested = event { return true }
        return false
    }

    private static func isFrame(_ event: RTMPServerEvent) -> Bool {
        if case .accessUnit = event { return true }
        return false
    }

    /// Waits for an event of the first connection.
    private func waits(_ recorder: Recorder, for condition: (RTMPServerEvent) -> Bool) async throws -> Bool {
        try await eventually { recorder.events.contains(where: condition) }
    }

    /// Returns whether a text is in the bytes that a client received.
    private func receives(_ text: String, _ client: RawConnection) async throws -> Bool {
        try await eventually { client.received.contains(Array(text.utf8)) }
    }

    @Test("an accepted publisher's frames arrive, also those that it sent before it was accepted")
    func publish() async throws {
        try await run { listener, recorder in
            let client = RawConnection(port: listener.port)
            try await client.send(Self.publishing + Self.media)
            #expect(try await waits(recorder, for: Self.isRequest))
            #expect(!recorder.events.contains(where: Self.isFrame))
            #expect(recorder.all[0].connection.address?.ip == .loopbackV4)
            recorder.all[0].connection.acceptPublishing()
            #expect(try await waits(recorder, for: Self.isFrame))
            #expect(try await receives("NetStream.Publish.Start", client))
            try await client.close()
            #expect(try await waits(recorder, for: { $0 == .closed(nil) }))
            #expect(recorder.events.contains(.unpublished))
            #expect(try await eventually { listener.connectionCount == 0 })
        }
    }

    @Test("a rejected publisher receives the reason before the connection is closed")
    func reject() async throws {
        try await run { listener, recorder in
            let client = RawConnection(port: listener.port)
            try await client.send(Self.publishing)
            #expect(try await waits(recorder, for: Self.isRequest))
            recorder.all[0].connection.close(.badName("The stream key is unknown."))
            #expect(try await eventually { client.isClosed })
            #expect(client.received.contains(Array("The stream key is unknown.".utf8)))
        }
    }

    @Test("a client that does not publish in time is disconnected, and one that sends garbage at once")
    func timeouts() async throws {
        try await run({ $0.session.setupTimeout = .milliseconds(200) }) { listener, recorder in
            let silent = RawConnection(port: listener.port)
            try await silent.send([3])
            #expect(try await eventually { silent.isClosed })
            #expect(recorder.events.last == .closed(.setupTimeout(seconds: 0)))
        }
        // A slow machine does not reach this timeout.
        try await run({ $0.session.setupTimeout = .seconds(600) }) { listener, recorder in
            let garbage = RawConnection(port: listener.port)
            try await garbage.send("GET / HTTP/1.1\r\n\r\n")
            #expect(try await eventually { garbage.isClosed })
            #expect(recorder.events.last == .closed(.notRTMP(firstByte: 0x47)))
        }
    }

    @Test("a publisher that sends nothing is disconnected, although it sent before")
    func silence() async throws {
        try await run({ $0.session.silenceTimeout = .milliseconds(300) }) { listener, recorder in
            let client = RawConnection(port: listener.port)
            // The media are sent before the silence counts, so that they arrive in time on any machine.
            try await client.send(Self.publishing + Self.media)
            #expect(try await waits(recorder, for: Self.isRequest))
            recorder.all[0].connection.acceptPublishing()
            #expect(try await receives("NetStream.Publish.Start", client))
            #expect(try await waits(recorder, for: Self.isFrame))
            #expect(try await eventually { client.isClosed })
            #expect(recorder.events.suffix(2) == [.unpublished, .closed(.silent(seconds: 0))])
        }
    }

    @Test("while a stream is not accepted, a client cannot occupy memory without limit")
    func pressure() async throws {
        try await run { listener, recorder in
            let client = RawConnection(port: listener.port)
            try await client.send(Self.publishing)
            #expect(try await waits(recorder, for: Self.isRequest))
            // More than the session keeps. The connection is not read, so that it continues.
            let message = RTMPMessage(
                type: .audio, streamID: 1, payload: [0xAF, 1] + [UInt8](repeating: 7, count: 100_000))
            let sending = Task {
                try await client.send(Self.media)
                for _ in 0..<100 { try await client.send(Self.bytes([message])) }
            }
            recorder.all[0].connection.send(RTMPStatus(.status, "NetStream.Test", "Wait."))
            #expect(try await receives("NetStream.Test", client))
            #expect(recorder.events.count == 2)
            recorder.all[0].connection.acceptPublishing()
            try await sending.value
            #expect(try await eventually { recorder.events.count(where: Self.isFrame) == 101 })
        }
    }

    @Test("the number of connections is limited, and the gate is notified of each")
    func limit() async throws {
        let gate = Gate(admits: true)
        try await run({ $0.maximumConnections = 2 }, gate: gate) { listener, recorder in
            let clients = (0..<2).map { _ in RawConnection(port: listener.port) }
            for client in clients { try await client.send(Self.publishing) }
            #expect(try await eventually { gate.counts.withLock { $0.waits } == 2 && listener.connectionCount == 2 })
            let third = RawConnection(port: listener.port)
            try? await third.send([3])
            #expect(try await eventually { gate.counts.withLock { $0.ends } == 1 })
            #expect(try await eventually { listener.connectionCount == 2 && recorder.all.count == 2 })
        }
        #expect(try await eventually { gate.counts.withLock { $0.waits == 3 && $0.ends == 3 } })
    }

    @Test("a connection that the gate rejects has no session")
    func gate() async throws {
        let gate = Gate(admits: false)
        try await run(gate: gate) { listener, recorder in
            let client = RawConnection(port: listener.port)
            try? await client.send([3])
            let isClosed = try await eventually { client.isClosed }
            #expect(isClosed)
            #expect(recorder.all.isEmpty)
            #expect(gate.counts.withLock { $0.ends } == 0)
        }
    }

    @Test("clients are asked to reconnect, and receive a status when the server stops")
    func stop() async throws {
        var client: RawConnection?
        try await run { listener, recorder in
            let connection = RawConnection(port: listener.port)
            client = connection
            try await connection.send(Self.publishing)
            #expect(try await waits(recorder, for: Self.isRequest))
            recorder.all[0].connection.acceptPublishing()
            listener.requestReconnect(to: "rtmp://other/ingest", description: "The server is updated.")
            #expect(try await receives("NetConnection.Connect.ReconnectRequest", connection))
            #expect(try await receives("rtmp://other/ingest", connection))
        }
        let closed = try #require(client)
        #expect(try await receives("NetConnection.Connect.AppShutdown", closed))
        #expect(try await eventually { closed.isClosed })
    }
}
