import PCastJSON

/// How much of a timeline is taken in; what is beyond is refused, and changes nothing.
public struct TimelineLimits: Hashable, Sendable {
    /// Of one message of a producer, or of one line of a log, in bytes.
    public var bytes = 64 * 1024
    /// How deep lists and objects stand in each other.
    public var depth = 16
    /// Values in one message, those within lists and objects included.
    public var values = 4_096
    /// Members of one object.
    public var members = 512
    /// Of the id of an event, in bytes of UTF-8.
    public var name = 256
    /// Of the name of a league or a game.
    public var gameName = 128
    /// Of one game.
    public var revisions = 50_000
    /// Of all revisions of one game, in bytes of JSON.
    public var logBytes = 64 * 1024 * 1024

    public init() {}

    public static let standard = TimelineLimits()

    var json: JSONLimits { JSONLimits(bytes: bytes, depth: depth, values: values, members: members) }

    /// Of what holds a revision around a producer's message: its number, its times and its event's id beside the message.
    var enveloped: TimelineLimits {
        var limits = self
        limits.bytes += 8 * 1024
        limits.depth += 3
        limits.values += 64
        return limits
    }
}
