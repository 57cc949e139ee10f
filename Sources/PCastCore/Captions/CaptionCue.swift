/// A caption of a live stream: a text that viewers see on the frames that were captured within a time.
public struct CaptionCue: Hashable, Sendable {
    /// The text of one to ``maximumLines`` lines, separated by U+000A. It is plain text without markup.
    public var text: String
    /// The capture time of the first frame with the text, by the stream's capture clock. It is in UTC.
    public var captureTime: WallTime
    /// The time for which the text is shown, within ``durations``.
    public var duration: Duration

    /// The maximum size of a text in bytes of UTF-8.
    public static let maximumTextSize = 1_024
    /// The maximum number of lines of a text.
    public static let maximumLines = 8
    /// The shortest and the longest duration.
    public static let durations = Duration.milliseconds(1)...Duration.seconds(600)
    /// The maximum number of cues in one request.
    public static let maximumCount = 16
    /// The maximum distance of a capture time from the time at which the cue is sent, before and after it.
    public static let maximumDistance = Duration.seconds(60)

    /// Creates a cue. ``problem`` reports whether a platform accepts it.
    public init(text: String, captureTime: WallTime, duration: Duration) {
        self.text = text
        self.captureTime = captureTime
        self.duration = duration
    }

    /// The capture time of the first frame without the text.
    public var end: WallTime { captureTime.advanced(by: duration) }

    /// The reason why a platform refuses the cue, as a sentence; nil if it accepts the cue.
    public var problem: String? {
        guard Self.durations.contains(duration) else {
            return "A caption lasts \(duration.milliseconds) ms: it may last 1 ms to 600 s."
        }
        guard text.utf8.count <= Self.maximumTextSize else {
            return "A caption has \(text.utf8.count) bytes: it may have \(Self.maximumTextSize)."
        }
        guard text.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else {
            return "A caption has no text."
        }
        guard text.unicodeScalars.allSatisfy({ $0 == "\n" || !Self.isControl($0) }) else {
            return "A caption has a control character: only line feeds are allowed."
        }
        let lines = text.unicodeScalars.count { $0 == "\n" } + 1
        guard lines <= Self.maximumLines else {
            return "A caption has \(lines) lines: it may have \(Self.maximumLines)."
        }
        return nil
    }

    /// Returns a text within the limits: without control characters and empty lines, and cut after ``maximumLines``
    /// lines and ``maximumTextSize`` bytes. Returns nil if nothing remains.
    public static func fitting(_ text: String) -> String? {
        let visible = text.unicodeScalars.map { $0 == "\t" ? " " : $0 }.filter { $0 == "\n" || !isControl($0) }
        let lines = visible.split(separator: "\n").map { line in
            String(String.UnicodeScalarView(line.drop { $0.properties.isWhitespace }))
        }
        let kept = lines.filter { !$0.isEmpty }.prefix(maximumLines).joined(separator: "\n")
        var result = ""
        var size = 0
        for character in kept {
            size += character.utf8.count
            guard size <= maximumTextSize else { break }
            result.append(character)
        }
        return result.isEmpty ? nil : result
    }

    /// Returns whether a scalar is a control character (Unicode category Cc).
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    }
}

/// The newest captions of a live stream, from which a viewer takes the text of each displayed frame by the frame's
/// capture time.
///
/// At most ``capacity`` cues are kept. If there are more, the earliest are removed.
package struct CaptionGate: Hashable, Sendable {
    /// The maximum number of cues.
    package static let capacity = 64

    /// The cues, ordered by capture time and then by arrival.
    package private(set) var cues: [CaptionCue] = []

    /// Creates a gate without cues.
    package init() {}

    /// Adds a cue. A cue that is already known is not added again.
    package mutating func add(_ cue: CaptionCue) {
        guard !cues.contains(cue) else { return }
        cues.insert(cue, at: cues.firstIndex { $0.captureTime > cue.captureTime } ?? cues.endIndex)
        if cues.count > Self.capacity { cues.removeFirst() }
    }

    /// Returns the texts for a frame that was captured at a time, one below the other; nil if there are none.
    package func text(at time: WallTime) -> String? {
        guard !cues.isEmpty else { return nil }
        let shown = cues.filter { $0.captureTime <= time && time < $0.end }
        return shown.isEmpty ? nil : shown.map(\.text).joined(separator: "\n")
    }

    /// Returns the next time after `time` at which the text may change; nil if there is none.
    package func change(after time: WallTime) -> WallTime? {
        cues.flatMap { [$0.captureTime, $0.end] }.filter { $0 > time }.min()
    }

    /// Removes the cues that ended before a time.
    package mutating func removeAll(endedBefore time: WallTime) { cues.removeAll { $0.end < time } }
}
