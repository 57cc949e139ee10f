import PCastCore
import PCastIO
import Synchronization
import Testing

@testable import PCastPlayback

/// A player that plays real media to its end: its displayed frames, its notifications, and waits for either. The
/// decoded frames are the reference, not the player's own reports.
final class PlaybackScenario: Sendable {
    /// The calls of the sessions to a consumer, including positions.
    let transcript: Transcript
    let screen: ScenarioScreen
    let evaluate = EventOrderChecker()
    let controller: PlaybackController
    /// The frame rate of what is played.
    let rate: Double
    private let changes = ChangeSignal()

    var player: Player { controller.player }

    /// Creates a story. The timeout is the maximum time without data of a segment.
    init(rate: Int = 25, timeout: Duration = .seconds(10)) {
        let changes = changes
        self.rate = Double(rate)
        transcript = Transcript(hasProgress: true) { changes.raise() }
        screen = ScenarioScreen { changes.raise() }
        let factory = PipelineFactory.media(
            isHeard: false, shownOn: screen, configuration: HLSContent.Configuration(timeout: timeout))
        controller = PlaybackController(factory)
        controller.addSessionConsumer(transcript)
        controller.addSessionConsumer(evaluate)
        screen.watch(controller.player)
    }

    /// Returns an observer for which tests can wait.
    func observer() -> Transcript { Transcript { [changes] in changes.raise() } }

    /// Ends playback, and checks the rules that always hold.
    func finish() async {
        player.reset()
        await player.settled()
        #expect(evaluate.complaints == [])
    }

    // MARK: Displayed frames and notifications

    var sights: [ScenarioScreen.Sight] { screen.sights }
    var stamps: [Int] { sights.map(\.stamp) }
    /// The number of the displayed frame; -1 before the first one.
    var stamp: Int { stamps.last ?? -1 }

    /// The calls without positions.
    var received: [String] { transcript.all.filter { !$0.hasPrefix("progress") } }
    /// The life-cycle events of the sessions, abbreviated.
    var life: [String] { transcript.all.filter { $0.hasPrefix("+ ") }.map { String($0.dropFirst(2)) } }

    /// The reported positions, unbounded at both ends.
    var positions: [Double] {
        transcript.all.compactMap { $0.hasPrefix("progress ") ? Double($0.dropFirst("progress ".count)) : nil }
    }

    /// Returns lines without stalls, because a busy machine may cause them.
    func withoutStalls(_ lines: [String]) -> [String] {
        var left: [String] = []
        for line in lines {
            left.append(line)
            for stall in [
                ["bufferEmpty", "stalled", "likelyToKeepUp", "recovered"], ["playing, buffering", "playing"],
            ]
            where left.count > stall.count {
                let last = left.suffix(stall.count).map { $0.hasPrefix("+ ") ? String($0.dropFirst(2)) : $0 }
                let isPlaying = stall.count == 4 || left[left.count - 3] == "playing"
                if last == stall, isPlaying { left.removeLast(stall.count) }
            }
        }
        return left
    }

    func hasReported(_ line: String, after count: Int = 0) -> Bool {
        transcript.all.dropFirst(count).contains { $0.hasPrefix(line) }
    }

    /// Returns the number of frames by which the position is ahead of the displayed frame.
    func lead(of position: Double, first: Int = 0) -> Double { position * rate - Double(stamp - first) }

    /// Whether the displayed frame matches the reported position, within one frame.
    func isInStep(first: Int = 0) -> Bool { abs(lead(of: player.position, first: first)) <= 1.01 }

    // MARK: Waiting

    /// Waits until a condition is true, which is checked after each frame and event. The suite's time limit ends the
    /// wait.
    func wait(
        _ sourceLocation: SourceLocation = #_sourceLocation, until isSo: () -> Bool
    ) async throws {
        while true {
            let count = changes.count
            if isSo() { return }
            if Task.isCancelled {
                Issue.record(
                    "shown \(stamps.suffix(20)), reported \(transcript.all.suffix(30)), \(player.state) at \(player.position)",
                    sourceLocation: sourceLocation)
                throw CancellationError()
            }
            await changes.wait(since: count)
        }
    }

    /// Waits for a line that begins with a text, after the first `count` lines.
    func wait(
        for line: String, after count: Int = 0, _ sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await wait(sourceLocation) { hasReported(line, after: count) }
    }

    /// Pauses, and waits until the frame at the position is displayed.
    func pause(first: Int = 0, _ sourceLocation: SourceLocation = #_sourceLocation) async throws {
        player.pause()
        await player.settled()
        try await wait(sourceLocation) { isInStep(first: first) }
    }
}
