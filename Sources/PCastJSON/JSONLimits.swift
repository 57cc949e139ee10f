/// How much JSON of a stranger is read; what is beyond is refused.
public struct JSONLimits: Hashable, Sendable {
    /// Of the text, in UTF-8.
    public var bytes: Int
    /// How deep lists and objects stand in each other.
    public var depth: Int
    /// Values, those within lists and objects included.
    public var values: Int
    /// Members of one object.
    public var members: Int
    /// Whether what readers understand differently is refused too: a name that an object says twice, and half of a surrogate
    /// pair (RFC 7493, sections 2.1 and 2.3). Else they are read as ECMAScript does: the last counts, and U+FFFD.
    public var refusesAmbiguity: Bool

    public init(
        bytes: Int = 16 * 1024, depth: Int = 16, values: Int = 4_096, members: Int = 512, refusesAmbiguity: Bool = false
    ) {
        (self.bytes, self.depth, self.values, self.members) = (bytes, depth, values, members)
        self.refusesAmbiguity = refusesAmbiguity
    }

    public static let standard = JSONLimits()

    /// No number needs as many characters, and more would take long to be read.
    static let numberLength = 64
}
