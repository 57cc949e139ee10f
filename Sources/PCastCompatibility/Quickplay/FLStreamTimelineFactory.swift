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

    /// Where the timelines that are made from now on come from. Nil, the default, is the platform of the stream that the player
    /// plays. Where it plays none, `canSubscribeEvents` answers false, and `subscriptionFailure` says why.
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
        StreamTimelineManager(configuration, player: player, source: source)
    }
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
