internal import PCastMedia

/// The bounds of what is parsed; a playlist beyond one of them is refused. A day of segments of a second fits in.
public enum PlaylistLimits {
    /// The highest protocol version that is known (draft-pantos-hls-rfc8216bis-20, section 7).
    public static let version = 13
    /// The longest text, in bytes of UTF-8.
    public static let textSize = 16 << 20
    /// The longest line, in bytes; a data URI may be one.
    public static let lineSize = 64 << 10
    /// The longest that a segment, and the target duration, may be.
    static let segmentDuration = TimeSpan.seconds(86_400 as Int64)
    /// The longest that all segments may be together.
    static let duration = TimeSpan.seconds(10 * 366 * 86_400 as Int64)
    /// The highest media sequence number and byte offset, so that sums of two do not overflow.
    static let number: Int64 = 1 << 61

    /// Attributes of the author in one date range. Those of further names are left out.
    static let dateRangeAttributes = 256
    /// What all date ranges may take together, in bytes of their texts: an update of a playlist adds to those of before. The
    /// oldest are left out.
    static let dateRangesSize = 4 << 20

    /// What a playlist holds many of.
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

    static func check(_ count: Int, _ counted: Counted, line: Int) throws(PlaylistError) {
        if count > counted.maximum { throw .tooMany(counted, line: line) }
    }
}
