import PCastJSON

/// The limits of a timeline. A message that exceeds one is refused and changes nothing.
public struct TimelineLimits: Hashable, Sendable {
    /// The maximum size of a producer's message, or of a line of a log, in bytes.
    public var bytes = 64 * 1024
    /// The maximum depth of nested lists and objects.
    public var depth = 16
    /// The maximum number of values in a message, including those in lists and objects.
    public var values = 4_096
    /// The maximum number of members of an object.
    public var members = 512
    /// The maximum length of an event's ID, in bytes of UTF-8.
    public var name = 256
    /// The maximum length of the name of a league or a game, in bytes of UTF-8.
    public var gameName = 128
    /// The maximum number of revisions of a game.
    public var revisions = 50_000
    /// The maximum size of all revisions of a game, in bytes of JSON.
    public var logBytes = 64 * 1024 * 1024

    /// Creates the default limits.
    public init() {}

    /// The default limits.
    public static let standard = TimelineLimits()

    /// The limits of the JSON parser.
    var json: JSONLimits { JSONLimits(bytes: bytes, depth: depth, values: values, members: members) }

    /// The limits of a revision, which adds its number, its times and its event's ID to a producer's message.
    var enveloped: TimelineLimits {
        var limits = self
        limits.bytes += 8 * 1024
        limits.depth += 3
        limits.values += 64
        return limits
    }
}
