import Foundation
import PCastCore
import PCastIO
import PCastJSON
import PCastOverlay
import PCastPlayback
import PCastWeb
import Synchronization

/// Players that loop a film, each with its own overlay, and their bridge with simulated pages.
struct OverlayBenchSetup: Sendable {
    enum MeasuredPath: Sendable {
        /// To the application, which answers.
        case message
        /// To the player, which reports the change.
        case command
    }

    private struct Participant: Sendable {
        let player: Player
        let overlay: Overlay
    }

    /// The pause between two round trips of a page, or between two changes of a player.
    private static let pause = Duration.milliseconds(50)

    private let participants: [Participant]
    private let pages: [OverlayBenchPage]
    private let tasks: [Task<Void, any Error>]

    /// Starts a player and an overlay for each film, and `count` pages, which are distributed evenly over the players.
    /// Throws `BenchFailure` if the bridge does not open.
    init(_ films: [String], pages count: Int) async throws {
        let participants = try films.indices.map { index in
            let player = Player(.media(playsAudio: false))
            let overlay = try Overlay(
                program: "bench-\(index)", player: PlayerOverlayPlugin(player),
                configuration: OverlayCore.Configuration(fatal: nil, expectsPages: false), center: NotificationCenter())
            return Participant(player: player, overlay: overlay)
        }
        let bridge = OverlayBridge(participants.map(\.overlay))
        let (ports, opening) = AsyncStream.makeStream(of: Int.self)
        let serving = Task { try await bridge.run { opening.yield($0) } }
        guard let port = await ports.first(where: { _ in true }) else {
            throw BenchFailure("the overlay bridge did not start")
        }
        let answering = participants.map { participant in
            let messages = participant.overlay.messages()
            return Task { await Self.answer(messages, of: participant.overlay) }
        }
        for (participant, film) in zip(participants, films) {
            participant.overlay.load()
            participant.player.loop = true
            participant.player.set(video: Video(film), play: true)
        }
        pages = (0..<count).map { index in
            let overlay = participants[index % participants.count].overlay
            return OverlayBenchPage(
                index, "ws://127.0.0.1:\(port)/bridge/\(overlay.program)?token=\(overlay.controllerToken)")
        }
        tasks = [serving] + answering.map { task in Task { await task.value } }
        self.participants = participants
        for page in pages { try await page.awaitHandshake() }
        for participant in participants {
            while !participant.player.state.isPlaying { try await Task.sleep(for: .milliseconds(10)) }
        }
    }

    private static func answer(_ messages: AsyncStream<OverlayMessage>, of overlay: Overlay) async {
        for await message in messages {
            guard case .bridgeMessage(let text) = message, let envelope = try? OverlayEnvelope(text: text),
                envelope.event == "bench.ask"
            else { continue }
            let answer = JSONValue.object(
                ["event": .string("bench.answer"), "metadata": .object(envelope.metadata)])
            overlay.post(.appMessage(answer.text))
        }
    }

    /// Lets all pages make round trips at the same time. Returns the duration of each in milliseconds.
    func measure(_ trip: MeasuredPath, for length: TimeSpan) async throws -> [Double] {
        let end = MonotonicClock.now() + length
        return try await withThrowingTaskGroup(of: [Double].self) { group in
            for page in pages {
                group.addTask {
                    var trips: [Double] = []
                    while MonotonicClock.now() < end {
                        trips.append(try await page.measureRoundTrip(trip).milliseconds)
                        try await Task.sleep(for: Self.pause)
                    }
                    return trips
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    /// Measures at all players at the same time how long a change of a player takes to reach a subscriber of its
    /// overlay. Returns each duration in milliseconds.
    func measureHub(for length: TimeSpan) async throws -> [Double] {
        let end = MonotonicClock.now() + length
        return try await withThrowingTaskGroup(of: [Double].self) { group in
            for participant in participants {
                group.addTask {
                    var times: [Double] = []
                    var volume = 0
                    var messages = participant.overlay.messages().makeAsyncIterator()
                    while MonotonicClock.now() < end {
                        volume = volume % 100 + 1
                        let began = MonotonicClock.now()
                        participant.player.volume = Double(volume) / 100
                        var message = await messages.next()
                        while let received = message, received != .playerVolume(volume) {
                            message = await messages.next()
                        }
                        if message == nil { throw BenchFailure("an overlay has ended") }
                        times.append((MonotonicClock.now() - began).milliseconds)
                        try await Task.sleep(for: Self.pause)
                    }
                    return times
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    func close() async {
        for page in pages { page.close() }
        for participant in participants {
            participant.overlay.destroy()
            participant.player.reset()
        }
        for participant in participants { await participant.player.settled() }
        for task in tasks { task.cancel() }
        for task in tasks { _ = try? await task.value }
    }
}

/// A simulated overlay page without a browser; it sends requests and waits for the matching response.
final class OverlayBenchPage: Sendable {
    private struct State {
        var sequence: Int64 = 0
        var requestCount: Int64 = 0
        /// The awaited response and the continuation of its request.
        var expected: (event: String, field: String, value: JSONValue)?
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
        _ = try await request("bridge.ready", [:], for: ("bridge.welcome", "controller", .boolean(true)))
        send("app.ready", [:])
    }

    /// Measures one round trip. Throws `BenchFailure` if the connection ends.
    func measureRoundTrip(_ trip: OverlayBenchSetup.MeasuredPath) async throws -> TimeSpan {
        let requestCount = state.withLock { state in
            state.requestCount += 1
            return state.requestCount
        }
        let began = MonotonicClock.now()
        let receivedAt: Instant
        switch trip {
        case .message:
            let name = JSONValue.string("\(number) \(requestCount)")
            receivedAt = try await request("bench.ask", ["name": name], for: ("bench.answer", "name", name))
        case .command:
            // A speed that no other page requests, which identifies the player's report.
            let speed = JSONValue.number(0.9 + Double(number) / 100 + Double(requestCount % 9 + 1) / 1_000)
            receivedAt = try await request("player.speed", ["speed": speed], for: ("player.speed", "speed", speed))
        }
        return receivedAt - began
    }

    private func request(
        _ event: String, _ metadata: JSONObject, for expected: (String, String, JSONValue)
    ) async throws -> Instant {
        try await withCheckedThrowingContinuation { continuation in
            let isOver = state.withLock { state in
                if state.isOver { return true }
                state.expected = (expected.0, expected.1, expected.2)
                state.waiting = continuation
                return false
            }
            if isOver { return continuation.resume(throwing: BenchFailure("a page was closed")) }
            send(event, metadata)
        }
    }

    private func send(_ event: String, _ metadata: JSONObject) {
        let envelope = state.withLock { state in
            state.sequence += 1
            return OverlayEnvelope(event, metadata, sequence: state.sequence, epoch: 0)
        }
        words.yield(envelope.text)
    }

    private func take(_ text: String) {
        let now = MonotonicClock.now()
        guard let envelope = try? OverlayEnvelope(text: text) else { return }
        if envelope.event == "bridge.keepalive" { return send("app.keepalive", [:]) }
        let waiting = state.withLock { state in
            guard let expected = state.expected, expected.event == envelope.event,
                envelope.metadata[expected.field] == expected.value
            else { return nil as CheckedContinuation<Instant, any Error>? }
            defer { (state.expected, state.waiting) = (nil, nil) }
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
