internal import PCastCore

/// The limits of the parser. It rejects a playlist that exceeds one of them. A day of one-second segments is within
/// them.
public enum PlaylistLimits {
    /// The highest supported protocol version (draft-pantos-hls-rfc8216bis-20, section 7).
    public static let version = 13
    /// The maximum size of the text, in bytes of UTF-8.
    public static let textSize = 16 << 20
    /// The maximum size of a line in bytes, which leaves room for a data URI with a whole segment.
    public static let lineSize = 4 << 20
    /// The maximum size of a line after variable substitution, in bytes.
    static let substitutedSize = 64 << 10
    /// The maximum duration of a segment, and the maximum target duration.
    static let segmentDuration = TimeSpan.seconds(86_400 as Int64)
    /// The maximum duration of all segments together.
    static let duration = TimeSpan.seconds(10 * 366 * 86_400 as Int64)
    /// The maximum media sequence number and byte offset. The sum of two does not overflow.
    static let number: Int64 = 1 << 61

    /// Attributes of the author in one date range. Those of further names are left out.
    static let dateRangeAttributes = 256
    /// The maximum size of all date ranges, in bytes of text, because an update of a playlist adds to earlier ones. The
    /// oldest ones are omitted.
    static let dateRangesSize = 4 << 20

    /// The things that a playlist contains in numbers.
    public enum Counted: String, Hashable, Sendable {
        case segments
        case parts
        case dateRanges = "date ranges"
        case variants
        case renditions
        case sessionData = "session data"
        case variables
        case keys
        case hints
        case reports = "rendition reports"

        /// The maximum number in one playlist; for keys, at the same segment or in the session.
        public var maximum: Int {
            switch self {
            case .segments, .parts: 100_000
            case .dateRanges: 10_000
            case .variants, .renditions, .sessionData, .variables: 1_000
            case .keys: 16
            case .hints: 16
            case .reports: 256
            }
        }
    }

    /// Checks a count.
    ///
    /// - Parameters:
    ///   - count: The number of things so far.
    ///   - counted: Their kind.
    ///   - line: The number of the line, for the error.
    /// - Throws: ``PlaylistError/tooMany(_:line:)`` if the count exceeds the maximum.
    static func check(_ count: Int, _ counted: Counted, line: Int) throws(PlaylistError) {
        if count > counted.maximum { throw .tooMany(counted, line: line) }
    }
}
