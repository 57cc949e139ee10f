import PCastMedia

/// How much consumers of timelines may ask of the platform.
enum TimelineTerms {
    /// Bytes of one message, from which on revisions wait for the next.
    static let messageBytes = 64 * 1024
    /// Revisions that a consumer who once had all may be behind.
    static let backlog = 512
    /// Messages that are kept as they were sent, for the next who needs the same.
    static let keptMessages = 16
    /// Consumers that are sent something in one turn of their thread, so that others have theirs.
    static let slice = 64
    /// Games in memory. What lies on disk and nobody follows gives its place to another.
    static let games = 1_000
    /// Each consumer is asked for a sign of life once in so many turns of a second.
    static let pingTurns = 20
    /// Who gives no sign for so long is gone.
    static let silence = TimeSpan.seconds(60)
    /// Who does not take a message for so long is gone as well.
    static let patience = TimeSpan.seconds(60)
    /// Messages of a consumer, who has nothing to say.
    static let strangeMessages = 16
}
