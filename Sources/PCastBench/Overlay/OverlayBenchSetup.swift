import Foundation
import PCastCore
import PCastIO
import PCastJSON
import PCastOverlay
import PCastPlayback

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
            let player = Player(.media(isHeard: false))
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
                        trips.append(try await page.travel(trip).milliseconds)
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
