import PCastCore
import PCastIO
import PCastJSON
import PCastOverlay
import PCastWeb
import Synchronization

/// A simulated overlay page without a browser; it sends requests and waits for the matching response.
final class OverlayBenchPage: Sendable {
    private struct State {
        var sequence: Int64 = 0
        var asked: Int64 = 0
        /// The awaited response and the continuation of its request.
        var wanted: (event: String, field: String, value: JSONValue)?
        var waiting: CheckedContinuation<Instant, any Error>?
        var isOver = false
    }

    private let number: Int
    private let state = Mutex(State())
    private let words: AsyncStream<String>.Continuation
    private let task = Mutex<Task<Void, any Error>?>(nil)

    init(_ number: Int, _ address: String) {
        self.number = number
        let (stream, words) = AsyncStream.makeStream(of: String.self)
        self.words = words
        let (messages, continuation) = AsyncStream.makeStream(of: String.self)
        let connection = Task {
            defer { continuation.finish() }
            try await WebSocketClient().connect(to: address) { connection in
                try await withThrowingTaskGroup { group in
                    group.addTask { for await word in stream { try await connection.send(.text(word)) } }
                    defer { group.cancelAll() }
                    try await connection.forEachMessage { message in
                        if case .text(let text) = message { continuation.yield(text) }
                    }
                }
            }
        }
        Task { [weak self] in
            for await text in messages { self?.take(text) }
            self?.end()
        }
        task.withLock { $0 = connection }
    }

    func close() {
        words.finish()
        task.withLock { $0 }?.cancel()
    }

    /// Completes the handshake of the bridge.
    func awaitHandshake() async throws {
        _ = try await ask("bridge.ready", [:], for: ("bridge.welcome", "controller", .boolean(true)))
        say("app.ready", [:])
    }

    /// Measures one round trip. Throws `BenchFailure` if the connection ends.
    func travel(_ trip: OverlayBenchSetup.MeasuredPath) async throws -> TimeSpan {
        let asked = state.withLock { state in
            state.asked += 1
            return state.asked
        }
        let began = MonotonicClock.now()
        let came: Instant
        switch trip {
        case .message:
            let name = JSONValue.string("\(number) \(asked)")
            came = try await ask("bench.ask", ["name": name], for: ("bench.answer", "name", name))
        case .command:
            // A speed that no other page requests, which identifies the player's report.
            let speed = JSONValue.number(0.9 + Double(number) / 100 + Double(asked % 9 + 1) / 1_000)
            came = try await ask("player.speed", ["speed": speed], for: ("player.speed", "speed", speed))
        }
        return came - began
    }

    private func ask(
        _ event: String, _ metadata: JSONObject, for wanted: (String, String, JSONValue)
    ) async throws -> Instant {
        try await withCheckedThrowingContinuation { continuation in
            let isOver = state.withLock { state in
                if state.isOver { return true }
                state.wanted = (wanted.0, wanted.1, wanted.2)
                state.waiting = continuation
                return false
            }
            if isOver { return continuation.resume(throwing: BenchFailure("a page was closed")) }
            say(event, metadata)
        }
    }

    private func say(_ event: String, _ metadata: JSONObject) {
        let envelope = state.withLock { state in
            state.sequence += 1
            return OverlayEnvelope(event, metadata, sequence: state.sequence, epoch: 0)
        }
        words.yield(envelope.text)
    }

    private func take(_ text: String) {
        let now = MonotonicClock.now()
        guard let envelope = try? OverlayEnvelope(text: text) else { return }
        if envelope.event == "bridge.keepalive" { return say("app.keepalive", [:]) }
        let waiting = state.withLock { state in
            guard let wanted = state.wanted, wanted.event == envelope.event,
                envelope.metadata[wanted.field] == wanted.value
            else { return nil as CheckedContinuation<Instant, any Error>? }
            defer { (state.wanted, state.waiting) = (nil, nil) }
            return state.waiting
        }
        waiting?.resume(returning: now)
    }

    private func end() {
        let waiting = state.withLock { state in
            state.isOver = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(throwing: BenchFailure("a page was closed"))
    }
}
