/// The cues of a WebVTT file (W3C, "WebVTT: The Web Video Text Tracks Format") or of a SubRip file (`.srt`), as plain
/// text. Styles, positions and regions are not read.
public struct TimedText: Hashable, Sendable {
    /// A text and the time in which it is shown, relative to the start of the media.
    public struct Cue: Hashable, Sendable {
        /// The first time with the text.
        public var begin: Duration
        /// The time for which the text is shown.
        public var duration: Duration
        /// The text, within the limits of a ``CaptionCue``.
        public var text: String

        /// Creates a cue.
        public init(begin: Duration, duration: Duration, text: String) {
            (self.begin, self.duration, self.text) = (begin, duration, text)
        }
    }

    /// The cues, ordered by their beginning and then by their order in the file.
    public var cues: [Cue]

    /// The maximum number of cues of a file.
    public static let maximumCount = 100_000
    /// The number of characters of a cue that are read, with their markup.
    private static let maximumMarkup = 8 * CaptionCue.maximumTextSize

    /// Parses the text of a file. A file that begins with `WEBVTT` is WebVTT; any other is SubRip. Cues without text
    /// are left out.
    ///
    /// - Throws: ``TimedTextError`` if a time cannot be read, a cue is longer than ``CaptionCue/durations``, or there
    ///   are no cues or too many.
    public init(parsing text: String) throws(TimedTextError) {
        let lines = Self.lines(text)
        let isWebVTT =
            lines.first.map { $0 == "WEBVTT" || $0.hasPrefix("WEBVTT ") || $0.hasPrefix("WEBVTT\t") } ?? false
        var cues: [Cue] = []
        var index = 0
        while index < lines.count {
            let begin = index
            while index < lines.count, !lines[index].isEmpty { index += 1 }
            if let cue = try Self.cue(lines[begin..<index], isWebVTT: isWebVTT) { cues.append(cue) }
            guard cues.count <= Self.maximumCount else { throw TimedTextError(line: begin + 1, .tooManyCues) }
            index += 1
        }
        guard !cues.isEmpty else { throw TimedTextError(line: 1, .noCues) }
        self.cues = cues.enumerated().sorted { ($0.element.begin, $0.offset) < ($1.element.begin, $1.offset) }
            .map(\.element)
    }

    /// Returns the lines of a text, which end with CR, LF or both. A byte order mark is removed.
    private static func lines(_ text: String) -> [String] {
        var lines: [String.UnicodeScalarView] = [.init()]
        var previous: Unicode.Scalar?
        for scalar in text.unicodeScalars where scalar != "\u{FEFF}" {
            switch scalar {
            case "\n" where previous == "\r": break
            case "\n", "\r": lines.append(.init())
            default: lines[lines.count - 1].append(scalar)
            }
            previous = scalar
        }
        return lines.map { String($0) }
    }

    /// Returns the cue of a block of lines; nil if the block is none, or has no text. Throws an error if its times are
    /// unreadable.
    private static func cue(_ block: ArraySlice<String>, isWebVTT: Bool) throws(TimedTextError) -> Cue? {
        // The identifier of a cue is on the line before its times. Other blocks are headers, notes and styles.
        guard let index = block.prefix(2).firstIndex(where: { $0.contains("-->") }) else { return nil }
        let times = block[index].split(separator: " ", omittingEmptySubsequences: true).flatMap {
            $0.split(separator: "\t")
        }
        guard times.count >= 3, times[1] == "-->", let begin = time(times[0]), let end = time(times[2]) else {
            throw TimedTextError(line: index + 1, .unreadableTimes(String(block[index].prefix(80))))
        }
        guard begin < end else { throw TimedTextError(line: index + 1, .endsBeforeBeginning) }
        guard end - begin <= CaptionCue.durations.upperBound else { throw TimedTextError(line: index + 1, .tooLong) }
        let raw = String(block[(index + 1)...].joined(separator: "\n").prefix(maximumMarkup))
        let plain = isWebVTT ? CaptionMarkup.webVTT(raw) : CaptionMarkup.subRip(raw)
        return CaptionCue.fitting(plain).map { Cue(begin: begin, duration: end - begin, text: $0) }
    }

    /// Parses a time: `[hours:]minutes:seconds.fraction`, with a comma or a period; nil if it is none.
    private static func time(_ text: Substring) -> Duration? {
        let parts = text.split(omittingEmptySubsequences: false) { $0 == "." || $0 == "," }
        guard (1...2).contains(parts.count) else { return nil }
        let clock = parts[0].split(separator: ":", omittingEmptySubsequences: false).map { number($0, digits: 1...4) }
        guard (2...3).contains(clock.count), clock.allSatisfy({ $0 != nil }) else { return nil }
        let (hours, minutes, seconds) = (clock.count == 3 ? clock[0]! : 0, clock[clock.count - 2]!, clock.last!!)
        guard minutes < 60, seconds < 60 else { return nil }
        var milliseconds: Int64 = 0
        if parts.count == 2 {
            guard let fraction = number(parts[1], digits: 1...3) else { return nil }
            milliseconds = fraction * [100, 10, 1][parts[1].count - 1]
        }
        return .milliseconds(((hours * 60 + minutes) * 60 + seconds) * 1_000 + milliseconds)
    }

    private static func number(_ text: Substring, digits: ClosedRange<Int>) -> Int64? {
        guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text)
    }
}

/// The reason why a file with timed text cannot be read.
public struct TimedTextError: Error, Hashable, Sendable {
    /// The kind of the problem.
    public enum Problem: Hashable, Sendable {
        /// The line with the times of a cue is malformed.
        case unreadableTimes(String)
        /// A cue ends before it begins, or at once.
        case endsBeforeBeginning
        /// A cue is longer than ``CaptionCue/durations``.
        case tooLong
        /// There are more cues than ``TimedText/maximumCount``.
        case tooManyCues
        /// There is no cue.
        case noCues
    }

    /// The number of the line, from 1.
    public let line: Int
    /// The problem.
    public let problem: Problem

    init(line: Int, _ problem: Problem) {
        self.line = line
        self.problem = problem
    }
}

extension TimedTextError: CustomStringConvertible {
    /// The problem and what to do, as a sentence.
    public var description: String {
        switch problem {
        case .unreadableTimes(let text):
            "line \(line), “\(text)”: write the times as 00:01:02.500 --> 00:01:04.000."
        case .endsBeforeBeginning: "line \(line): the cue ends before it begins."
        case .tooLong: "line \(line): the cue lasts longer than 600 s. Split it."
        case .tooManyCues: "line \(line): there are more than \(TimedText.maximumCount) cues. Split the file."
        case .noCues: "there are no cues. Write WebVTT or SubRip."
        }
    }
}

/// Converts the markup of caption files to plain text.
enum CaptionMarkup {
    /// The tags that players of SubRip files support.
    private static let subRipTags: Set<String> = ["b", "i", "u", "s", "font"]
    /// The character references of WebVTT that need no number (W3C WebVTT, section 4.2.2, and quotation marks).
    private static let entities: [String: String] = [
        "amp": "&", "lt": "<", "gt": ">", "nbsp": "\u{A0}", "lrm": "\u{200E}", "rlm": "\u{200F}", "quot": "\"",
        "apos": "'",
    ]
    /// The maximum length of the name of a character reference.
    private static let maximumEntity = 8

    /// Removes the tags of a WebVTT cue, and replaces its character references.
    static func webVTT(_ text: String) -> String { decodingEntities(removingTags(text) { _ in true }) }

    /// Removes the tags of a SubRip cue, and the position tags in braces (`{\an8}`) that some programs write. Other
    /// angle brackets remain.
    static func subRip(_ text: String) -> String {
        let untagged = removingTags(text) { tag in
            let name = tag.drop { $0 == "/" }.prefix { $0.isLetter }
            return subRipTags.contains(name.lowercased())
        }
        var result = ""
        var rest = untagged[...]
        while let open = rest.firstIndex(of: "{") {
            let after = rest.index(after: open)
            guard after < rest.endIndex, rest[after] == "\\", let close = rest[after...].firstIndex(of: "}") else {
                result += rest[...open]
                rest = rest[after...]
                continue
            }
            result += rest[..<open]
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }

    /// Removes the tags for which `isTag` returns true, given their content. A tag without an end is text.
    private static func removingTags(_ text: String, _ isTag: (Substring) -> Bool) -> String {
        var result = ""
        var rest = text[...]
        while let open = rest.firstIndex(of: "<") {
            let after = rest.index(after: open)
            result += rest[..<open]
            guard let close = rest[after...].firstIndex(of: ">"), isTag(rest[after..<close]) else {
                result += "<"
                rest = rest[after...]
                continue
            }
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }

    private static func decodingEntities(_ text: String) -> String {
        var result = ""
        var rest = text[...]
        while let mark = rest.firstIndex(of: "&") {
            result += rest[..<mark]
            let after = rest.index(after: mark)
            guard let end = rest[after...].prefix(maximumEntity + 1).firstIndex(of: ";"),
                let character = character(rest[after..<end])
            else {
                result += "&"
                rest = rest[after...]
                continue
            }
            result += character
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    private static func character(_ name: Substring) -> String? {
        if let known = entities[String(name)] { return known }
        guard name.first == "#" else { return nil }
        let digits = name.dropFirst()
        let value = digits.first == "x" || digits.first == "X" ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
        return value.flatMap { Unicode.Scalar($0) }.map { String(Character($0)) }
    }
}
