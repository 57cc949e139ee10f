/// The limits for JSON from untrusted sources. A text that exceeds one is rejected.
public struct JSONLimits: Hashable, Sendable {
    /// The maximum size of the text in bytes of UTF-8.
    public var bytes: Int
    /// The maximum nesting depth of arrays and objects.
    public var depth: Int
    /// The maximum number of values, including those in arrays and objects.
    public var values: Int
    /// The maximum number of members of one object.
    public var members: Int
    /// Whether to reject repeated member names and unpaired surrogates, which parsers handle differently (RFC 7493,
    /// sections 2.1 and 2.3).
    ///
    /// If false, they are read as in ECMAScript: the last member counts, and an unpaired surrogate becomes U+FFFD.
    public var refusesAmbiguity: Bool

    /// Creates limits; the defaults suit small messages.
    public init(
        bytes: Int = 16 * 1024, depth: Int = 16, values: Int = 4_096, members: Int = 512, refusesAmbiguity: Bool = false
    ) {
        (self.bytes, self.depth, self.values, self.members) = (bytes, depth, values, members)
        self.refusesAmbiguity = refusesAmbiguity
    }

    /// The default limits: 16 KiB, 16 levels, 4,096 values, 512 members of an object.
    public static let standard = JSONLimits()

    /// The maximum length of a number. None needs more characters, and longer ones take long to parse.
    static let numberLength = 64
}
