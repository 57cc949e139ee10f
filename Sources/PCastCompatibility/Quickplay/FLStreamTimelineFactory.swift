public import PCastPlayback
import Synchronization

// The names of Quickplay's (Firstlight's) library for timelines, `fl-stream-timeline`. `StreamTimelineEvent`,
// `StreamTimelineMetadata`, `TimelineEventMetadata` and `EventSendableDelegate` have the same names in `PCastPlayback`.

/// The configuration of a timeline (Quickplay: `StreamTimelineConfiguration`).
public typealias StreamTimelineConfiguration = TimelineConfiguration
/// The timeline of a game (Quickplay: `StreamTimelineManager`).
public typealias StreamTimelineManager = GameTimeline
/// The action of playback that a timeline suggests for an event (Quickplay: `Action`).
public typealias Action = SuggestedAction
/// The change of an event (Quickplay: `ChangeType`).
public typealias ChangeType = TimelineChangeType

/// Creates timelines with Quickplay's names (Quickplay: `FLStreamTimelineFactory`).
public enum FLStreamTimelineFactory {
    private static let current = Mutex<(any TimelineSource)?>(nil)

    /// The source of timelines that are created from now on. Nil, the default, is the platform of the stream that the
    /// player plays. Without such a stream, `canSubscribeEvents` returns false, and `subscriptionFailure` has the
    /// reason.
    public static var source: (any TimelineSource)? {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// Returns the configuration of a game's timeline. With `spoiler`, events are delivered as soon as they are known.
    public static func streamTimelineConfiguration(
        leagueName: String, gameId: String, spoiler: Bool = false
    ) -> StreamTimelineConfiguration {
        StreamTimelineConfiguration(leagueName: leagueName, gameId: gameId, spoiler: spoiler)
    }

    /// Returns the timeline of a game. The player conforms to `EventSendableDelegate`, or has a delegate in
    /// `eventDelegate`.
    public static func streamTimelineManager(
        configuration: StreamTimelineConfiguration, player: Player
    ) -> StreamTimelineManager {
        StreamTimelineManager(configuration, player: player, source: source)
    }
}

extension GameTimeline {
    /// Calls back with whether the game has a timeline.
    public func canSubscribeEvents(_ completion: @escaping @Sendable (Bool) -> Void) {
        Task { completion(await canSubscribeEvents()) }
    }

    /// Calls back when the timeline is subscribed to, or with the error.
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
