import FoundationEssentials
public import PCastMedia

/// Times as people and other programs read them: ISO 8601, UTC, with milliseconds.
public enum Timestamp {
    private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    /// Such as `2026-11-21T18:30:00.125Z`.
    public static func text(_ time: WallTime) -> String {
        Date(timeIntervalSince1970: Double(time.millisecondsSinceEpoch) / 1_000 + 0.000_1).formatted(style)
    }

    /// Reads it, with or without a fraction of the second.
    public static func parse(_ text: String) -> WallTime? {
        let date = (try? style.parse(text)) ?? (try? Date.ISO8601FormatStyle().parse(text))
        guard let seconds = date?.timeIntervalSince1970, abs(seconds) < 9e9 else { return nil }
        return WallTime(millisecondsSinceEpoch: Int64((seconds * 1_000).rounded()))
    }
}
