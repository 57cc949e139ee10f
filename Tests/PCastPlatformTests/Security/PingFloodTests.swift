import PCastPlatform
import PCastWeb
import Synchronization
import Testing

/// Endless WebSocket pings.
@Suite("Floods of pings") struct PingFloodTests {
    private final class Answers: Sendable {
        private let state = Mutex((pongs: 0, isClosed: false, hasBegun: false))

        var pongs: Int { state.withLock { $0.pongs } }
        var isClosed: Bool { state.withLock { $0.isClosed } }
        var hasBegun: Bool { state.withLock { $0.hasBegun } }

        func add() { state.withLock { $0.pongs += 1 } }
        func close() { state.withLock { $0.isClosed = true } }
        func begin() { state.withLock { $0.hasBegun = true } }
    }

    @Test("pings count as requests, also before authentication, and a flood of them ends the connection")
    func flood() async throws {
        try await TestPlatform.runConfigured(configure: { $0.limits[.requestsPerSecond] = 10 }) {
            (platform) async throws in
            let answers = Answers()
            try await WebSocketClient().connect(to: platform.uri + "/ws") { (connection) async throws in
                let reading = Task {
                    try? await connection.forEachMessage({ _ in }, onActivity: { answers.add() })
                    answers.close()
                }
                for _ in 0..<5_000 where !answers.isClosed {
                    guard (try? await connection.ping()) != nil else { break }
                }
                #expect(try await eventually { answers.isClosed })
                reading.cancel()
            }
            #expect((1..<1_000).contains(answers.pongs), "\(answers.pongs) pings were answered")
        }
    }

    @Test("pings on the changes of a timeline count too, and a flood of them ends the connection")
    func timeline() async throws {
        try await TestPlatform.runConfigured(configure: { $0.limits[.requestsPerSecond] = 10 }) {
            (platform) async throws in
            let game = "/timeline/NHL/1"
            #expect(try await platform.ask("POST", game + "/events/a", "{}").status == 201)
            let answers = Answers()
            try await WebSocketClient().connect(to: platform.uri + game + "/changes") { (connection) async throws in
                let reading = Task {
                    try? await connection.forEachMessage({ _ in answers.begin() }, onActivity: { answers.add() })
                    answers.close()
                }
                try #require(try await eventually { answers.hasBegun })
                for _ in 0..<5_000 where !answers.isClosed {
                    guard (try? await connection.ping()) != nil else { break }
                }
                #expect(try await eventually { answers.isClosed })
                reading.cancel()
            }
            #expect((1..<1_000).contains(answers.pongs), "\(answers.pongs) pings were answered")
        }
    }
}
