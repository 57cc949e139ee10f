public import PCastPlayback
import Synchronization

// What Quickplay's (Firstlight's) library for timelines calls it (seed 002; `fl-stream-timeline`). `StreamTimelineEvent`,
// `StreamTimelineMetadata`, `TimelineEventMetadata` and `EventSendableDelegate` are the same here and there.

public typealias StreamTimelineConfiguration = TimelineConfiguration
public typealias StreamTimelineManager = GameTimeline
public typealias Action = SuggestedAction
public typealias ChangeType = TimelineChangeType

/// Makes timelines by their vendor's names.
public enum FLStreamTimelineFactory {
    private static let place = Mutex<(any TimelineSource)?>(nil)

    /// Where timelines come from: the vendor's library knows that by itself, this one is told before the first is made.
    public static var source: (any TimelineSource)? {
        get { place.withLock { $0 } }
        set { place.withLock { $0 = newValue } }
    }

    public static func streamTimelineConfiguration(
        leagueName: String, gameId: String, spoiler: Bool = false
    ) -> StreamTimelineConfiguration {
        StreamTimelineConfiguration(leagueName: leagueName, gameId: gameId, spoiler: spoiler)
    }

    /// - Parameter player: conforms to `EventSendableDelegate`, or has one as its `eventDelegate`.
    public static func streamTimelineManager(
        configuration: StreamTimelineConfiguration, player: Player
    ) -> StreamTimelineManager {
        StreamTimelineManager(configuration, player: player, source: source ?? NoTimelines())
    }
}

/// Where nobody has said where timelines come from.
private struct NoTimelines: TimelineSource {
    private static let reason = "nobody has set FLStreamTimelineFactory.source"

    func exists(_ game: TimelineGame) async throws(TimelineTrouble) -> Bool { throw .unreachable(Self.reason) }

    func follow(
        _ game: TimelineGame, since: SequenceNumber, of log: TimelineLogID?,
        _ take: @escaping @Sendable (TimelineMessage) throws -> Void
    ) async throws { throw TimelineTrouble.unreachable(Self.reason) }
}

extension GameTimeline {
    /// Calls back with whether there is a timeline of the game.
    public func canSubscribeEvents(_ completion: @escaping @Sendable (Bool) -> Void) {
        Task { completion(await canSubscribeEvents()) }
    }

    /// Calls back when the game is followed, or cannot be.
    public func subscribeEvents(_ completion: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        Task {
            do {
                try await subscribeEvents()
                completion(.success(()))
            } catch {
                completion(.failure(error))
            }
        }
    }
}
