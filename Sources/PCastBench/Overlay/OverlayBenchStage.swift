import Foundation
import PCastIO
import PCastMedia
import PCastOverlay
import PCastPlayback

/// A player that plays a film again and again, its bridge, and pages.
struct OverlayBenchStage: Sendable {
    enum Trip: Sendable {
        /// To the application, which answers.
        case message
        /// To the player, which reports.
        case command
    }

    /// Between two trips of a page.
    private static let pause = Duration.milliseconds(50)

    private let player: Player
    private let overlay: Overlay
    private let pages: [OverlayBenchPage]
    private let tasks: [Task<Void, any Error>]

    init(_ film: String, pages count: Int) async throws {
        let player = Player(.media(isHeard: false))
        let overlay = try Overlay(
            program: "bench", player: PlayerOverlayPlugin(player),
            configuration: OverlayCore.Configuration(fatal: nil, expectsPages: false), center: NotificationCenter())
        let bridge = OverlayBridge([overlay])
        let (ports, opening) = AsyncStream.makeStream(of: Int.self)
        let serving = Task { try await bridge.run { opening.yield($0) } }
        guard let port = await ports.first(where: { _ in true }) else { throw BenchFailure("the bridge does not open") }
        let messages = overlay.messages()
        let answering = Task {
            for await case .bridgeMessage(let text) in messages {
                guard let envelope = try? OverlayEnvelope(text: text), envelope.event == "bench.ask" else { continue }
                let answer = OverlayJSON.object(
                    ["event": .string("bench.answer"), "metadata": .object(envelope.metadata)])
                overlay.post(.appMessage(answer.text))
            }
        }
        overlay.load()
        player.loop = true
        player.set(video: Video(film), play: true)
        let address = "ws://127.0.0.1:\(port)/bridge/bench?token=\(overlay.controllerToken)"
        pages = (0..<count).map { OverlayBenchPage($0, address) }
        tasks = [serving, Task { await answering.value }]
        (self.player, self.overlay) = (player, overlay)
        for page in pages { try await page.awaitWelcome() }
    }

    /// All pages at once.
    ///
    /// - Returns: milliseconds of every trip.
    func measure(_ trip: Trip, for length: TimeSpan) async throws -> [Double] {
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

    func close() async {
        for page in pages { page.close() }
        overlay.destroy()
        player.reset()
        await player.settled()
        for task in tasks { task.cancel() }
        for task in tasks { _ = try? await task.value }
    }
}
