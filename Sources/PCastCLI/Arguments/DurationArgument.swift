import ArgumentParser
import PCastCore
import PCastPlayback

/// A duration of at most 100 years, written as `500ms`, `10s`, `5m`, `1h` or `1.5s`. It may also be an ISO 8601
/// duration of days, hours, minutes and seconds, such as `PT10S` or `P1DT12H`.
struct DurationArgument: ExpressibleByArgument, Equatable {
    let span: TimeSpan

    init(_ span: TimeSpan) { self.span = span }

    init?(argument: String) {
        guard let span = argument.lowercased().hasPrefix("p") ? TimeSpan(iso8601: argument) : Self.span(argument) else {
            return nil
        }
        self.span = span
    }

    private static let longest = TimeSpan.seconds(Int64(100 * 365.25 * 86_400))

    private static func span(_ text: String) -> TimeSpan? {
        let text = text.lowercased()
        for (unit, factor) in [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3_600)] where text.hasSuffix(unit) {
            guard let number = number(text.dropLast(unit.count)), number * factor <= longest.seconds else { return nil }
            return TimeSpan(seconds: number * factor)
        }
        return nil
    }

    /// Parses digits with an optional fraction; nil for other text that `Double` accepts.
    private static func number(_ text: Substring) -> Double? {
        guard text.count <= 12, text.first?.isNumber == true, text.last?.isNumber == true,
            text.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") })
        else { return nil }
        return Double(text)
    }
}

/// A cue point, written as `90s`, or as `90s=goal` with its type.
struct CueArgument: ExpressibleByArgument {
    let cuePoint: CuePoint

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard let text = parts.first, let position = DurationArgument(argument: text) else { return nil }
        cuePoint = CuePoint(type: parts.count > 1 ? parts[1] : nil, at: position.span.duration)
    }
}

/// The rule for the option `--playout-delay`.
enum PlayoutDelayRule {
    private static let longest = TimeSpan.seconds(3_600 as Int64)

    /// Returns the error of a delay; nil if it is valid.
    static func violation(_ delay: DurationArgument) -> String? {
        guard delay.span <= .zero || delay.span > longest else { return nil }
        return "--playout-delay \(delay.span.seconds)s: the delay must be more than 0 s and at most 1 h."
    }
}
