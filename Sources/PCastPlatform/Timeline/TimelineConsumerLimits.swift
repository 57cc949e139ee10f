import PCastCore

/// The limits of timeline consumers.
enum TimelineConsumerLimits {
    /// The size of a message in bytes, beyond which revisions are sent in the next one.
    static let messageBytes = 64 * 1024
    /// The maximum number of revisions by which a consumer that was up to date may fall behind.
    static let backlog = 512
    /// The maximum number of cached messages for consumers at the same position.
    static let keptMessages = 16
    /// The maximum number of consumers that are served in one iteration of their event loop, so that other work is not
    /// delayed.
    static let slice = 64
    /// The maximum number of games in memory. A game that is stored on disk and unused is unloaded for another.
    static let games = 1_000
    /// The interval in seconds between two pings to a consumer.
    static let pingInterval = 20
    /// The time without a response after which a consumer is disconnected.
    static let silence = TimeSpan.seconds(60)
    /// The time without progress of a message after which a consumer is disconnected.
    static let timeout = TimeSpan.seconds(60)
    /// The number of messages of a consumer, which should send none, after which it is disconnected.
    static let unexpectedMessages = 16
}
