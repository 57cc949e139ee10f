import Foundation
import PCastCompatibility
import PCastTimeline
import Synchronization
import Testing

@testable import PCastPlayback

/// The output of the sample for each player, because other tests use players of this type too.
private let printed = Mutex<[ObjectIdentifier: [String]]>([:])

/// The sample's player, whose output is recorded.
extension Player: EventSendableDelegate {
    /// Records the output for an event.
    public func didReceive(
        event: StreamTimelineEvent, suggestedAction: Action, metadata: StreamTimelineMetadata?
    ) {
        func note(_ line: String) { printed.withLock { $0[ObjectIdentifier(self), default: []].append(line) } }
        switch event {
        case .gameInfo:
            guard let data = metadata as? TimelineEventMetadata else { return }
            note("Game Info Metadata: \(data.eventMetadata)")
            break
        case .gameEvent:
            guard let data = metadata as? TimelineEventMetadata else { return }
            note("Game Event Metadata: \(data.eventMetadata)")
            switch data.type {
            case .added:
                note("added")
            case .modified:
                note("modified")
            case .deleted:
                note("deleted")
            default:
                break
            }
            break
        default:
            break
        }
    }
}

/// A source of one game with one goal.
private struct OneGame: TimelineSource {
    func exists(_ game: TimelineGame) async throws(TimelineFollowError) -> Bool { game.game == "2354717" }

    func follow(
        _ game: TimelineGame, since: SequenceNumber, of log: TimelineLogID?,
        _ take: @escaping @Sendable (TimelineMessage) throws -> Void
    ) async throws {
        var log = TimelineLog()
        let now = WallTime(millisecondsSinceEpoch: 1_000)
        for change in [
            TimelineRequest.Change.info(try GameInfo(parsing: Array(#"{"id":"2354717"}"#.utf8))),
            .put(try TimelineEventID("g"), try GameEvent(parsing: Array(#"{"type":"goal"}"#.utf8))),
        ] {
            if let revision = try log.revision(for: TimelineRequest(change), at: now) { try log.append(revision) }
        }
        try take(.begin(TimelineLogID("log"), newest: log.newest, from: .none))
        try take(.changes(log.revisions))
        // This waits until the task is cancelled.
        let (silence, _) = AsyncStream<Void>.makeStream()
        for await _ in silence {}
    }
}

@Suite("Code for Quickplay's timelines", .serialized)
struct QuickplayTests {
    @Test("the samples of “Timeline Events” compile, and run")
    func samples() async throws {
        FLStreamTimelineFactory.source = OneGame()
        let (pipelines, subscribed) = (Pipelines(), AsyncStream<String>.makeStream())
        let player = Player(pipelines.factory)
        let streamTimelineConfig = FLStreamTimelineFactory.streamTimelineConfiguration(
            leagueName: "NHL", gameId: "2354717", spoiler: true)
        let streamTimelineManager = FLStreamTimelineFactory.streamTimelineManager(
            configuration: streamTimelineConfig, player: player)
        // Check if the game is available to subscribe
        streamTimelineManager.canSubscribeEvents { isSuccess in
            if isSuccess {
                // Subscribe to timeline events
                streamTimelineManager.subscribeEvents { result in
                    switch result {
                    case .success:
                        subscribed.continuation.yield("StreamTimeline subscribed!")
                    case .failure:
                        subscribed.continuation.yield("StreamTimeline subscribe failed!")
                    }
                }
            }
        }
        #expect(await subscribed.stream.first { _ in true } == "StreamTimeline subscribed!")
        await streamTimelineManager.settled()
        let lines = printed.withLock { $0[ObjectIdentifier(player)] ?? [] }
        try #require(lines.count == 3 && lines.last == "added")
        #expect(lines[0].hasPrefix("Game Info Metadata: [\"id\": ") && lines[1].contains("\"type\": \"goal\""))
        streamTimelineManager.shutdown()
        let unknown = FLStreamTimelineFactory.streamTimelineManager(
            configuration: StreamTimelineConfiguration(leagueName: "NHL", gameId: "1"), player: player)
        #expect(await !unknown.canSubscribeEvents())
    }

    @Test("without a source and a stream of a platform canSubscribeEvents is false, and the reason can be queried")
    func noSource() async throws {
        FLStreamTimelineFactory.source = nil
        let player = Player(Pipelines().factory)
        let streamTimelineManager = FLStreamTimelineFactory.streamTimelineManager(
            configuration: FLStreamTimelineFactory.streamTimelineConfiguration(leagueName: "NHL", gameId: "2354717"),
            player: player)
        let (answers, answered) = AsyncStream<Bool>.makeStream()
        streamTimelineManager.canSubscribeEvents { isSuccess in answered.yield(isSuccess) }
        #expect(await answers.first { _ in true } == false)
        #expect(streamTimelineManager.subscriptionFailure == .noPlatform)
    }
}
