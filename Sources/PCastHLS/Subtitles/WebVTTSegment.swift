package import PCastCore

/// A WebVTT segment: the cues with their times (W3C WebVTT; RFC 8216, section 3.5). Cue settings, styles and regions
/// are ignored.
package struct WebVTTSegment: Hashable, Sendable {
    /// A text that is shown between two times.
    package struct Cue: Hashable, Sendable {
        /// The time at which the text appears, on the clock of the cues (see ``WebVTTSegment/clockOffset``).
        package var start: TimeSpan
        /// The time at which the text disappears, on the clock of the cues.
        package var end: TimeSpan
        /// The lines of the text, separated by line feeds and without markup.
        package var text: String

        /// Creates a cue.
        package init(start: TimeSpan, end: TimeSpan, text: String) {
            self.start = start
            self.end = end
            self.text = text
        }
    }

    /// The cues in the order of the file, at most 10,000.
    package var cues: [Cue] = []
    /// The offset to add to the times of cues to get media timestamps (`X-TIMESTAMP-MAP`; RFC 8216, section 3.5).
    package var clockOffset = TimeSpan.zero

    /// The most cues that are read; the rest of the segment is ignored.
    static let cueLimit = 10_000

    /// Creates a segment.
    package init(cues: [Cue], clockOffset: TimeSpan = .zero) {
        self.cues = cues
        self.clockOffset = clockOffset
    }

    /// The segment as text. Empty lines of cues are left out, because they would end the cue. Times have milliseconds.
    package var text: String {
        let ticks = ClockRate.video.ticks(in: clockOffset) & ((1 << 33) - 1)
        var lines = ["WEBVTT", "X-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:\(ticks)", ""]
        for cue in cues {
            let start = Self.milliseconds(cue.start)
            let end = max(start + 1, Self.milliseconds(cue.end))
            lines.append("\(Self.written(start)) --> \(Self.written(end))")
            lines += cue.text.split(separator: "\n").map { Self.escaped($0) }
            lines.append("")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func milliseconds(_ time: TimeSpan) -> Int64 { max(0, (time.nanoseconds + 500_000) / 1_000_000) }

    /// Returns a number of milliseconds as `HH:MM:SS.mmm`.
    private static func written(_ milliseconds: Int64) -> String {
        func padded(_ number: Int64, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let seconds = milliseconds / 1_000
        let clock = [seconds / 3_600, seconds / 60 % 60, seconds % 60].map { padded($0, 2) }.joined(separator: ":")
        return "\(clock).\(padded(milliseconds % 1_000, 3))"
    }

    /// Returns a line in which the characters of markup are references.
    private static func escaped(_ line: Substring) -> String {
        var text = ""
        for character in line {
            switch character {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            default: text.append(character)
            }
        }
        return text
    }

    /// Parses a segment. Returns nil if the bytes do not begin with `WEBVTT`; lines that cannot be read are skipped.
    package init?(_ bytes: [UInt8]) {
        var text = String(decoding: bytes, as: UTF8.self)
        if text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
        guard text.hasPrefix("WEBVTT") else { return nil }
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }
        var index = 0
        while index < lines.count, !lines[index].isEmpty {
            if lines[index].hasPrefix("X-TIMESTAMP-MAP=") { clockOffset = Self.offset(lines[index].dropFirst(16)) }
            index += 1
        }
        while index < lines.count, cues.count < Self.cueLimit {
            guard let times = Self.times(lines[index]) else {
                index += 1
                continue
            }
            index += 1
            var texts: [String] = []
            while index < lines.count, !lines[index].isEmpty {
                texts.append(Self.plain(lines[index]))
                index += 1
            }
            cues.append(Cue(start: times.start, end: times.end, text: texts.joined(separator: "\n")))
        }
    }

    /// Returns the bytes of a segment that is still loaded, up to its last empty line. The rest may be a part of a cue.
    package static func completePrefix(of bytes: [UInt8]) -> [UInt8] {
        let (feed, carriage) = (UInt8(ascii: "\n"), UInt8(ascii: "\r"))
        var index = bytes.count - 1
        while index > 0 {
            if bytes[index] == feed {
                let before = bytes[index - 1] == carriage ? index - 2 : index - 1
                if before >= 0, bytes[before] == feed { return Array(bytes[...index]) }
            }
            index -= 1
        }
        return []
    }

    /// Returns the media timestamp minus the cue time that an `X-TIMESTAMP-MAP` header relates to each other.
    private static func offset(_ text: Substring) -> TimeSpan {
        var (local, ticks) = (TimeSpan.zero, Int64(0))
        for part in text.split(separator: ",") {
            if part.hasPrefix("LOCAL:") { local = time(part.dropFirst(6)) ?? .zero }
            if part.hasPrefix("MPEGTS:") { ticks = part.dropFirst(7).utf8.trimmed.decimal(upTo: (1 << 33) - 1) ?? 0 }
        }
        return ClockRate.video.span(ofTicks: ticks) - local
    }

    /// Parses a cue timing line, `start --> end settings`. Returns nil for any other line.
    private static func times(_ line: Substring) -> (start: TimeSpan, end: TimeSpan)? {
        guard let arrow = line.firstRange(of: "-->") else { return nil }
        let behind = line[arrow.upperBound...].drop { $0 == " " || $0 == "\t" }
        guard let start = time(line[..<arrow.lowerBound]), let end = time(behind.prefix { $0 != " " && $0 != "\t" }),
            end > start
        else { return nil }
        return (start, end)
    }

    /// Parses `HH:MM:SS.mmm`, in which the hours may be missing. Returns nil for any other text.
    private static func time(_ text: Substring) -> TimeSpan? {
        let parts = Substring(text.utf8.trimmed).split(separator: ":")
        guard (2...3).contains(parts.count), let last = parts.last, let seconds = last.utf8.billionths(upTo: 60),
            let minutes = parts[parts.count - 2].utf8.decimal(upTo: 59)
        else { return nil }
        let hours = parts.count == 3 ? parts[0].utf8.decimal(upTo: 1_000_000) : 0
        return hours.map { .seconds($0 * 3_600 + minutes * 60) + TimeSpan(nanoseconds: seconds) }
    }

    /// Removes tags from a line and replaces character references.
    static func plain(_ line: Substring) -> String {
        var text = ""
        var isTag = false
        for character in line {
            switch character {
            case "<": isTag = true
            case ">" where isTag: isTag = false
            default: if !isTag { text.append(character) }
            }
        }
        let names = [("&lt;", "<"), ("&gt;", ">"), ("&nbsp;", " "), ("&lrm;", ""), ("&rlm;", ""), ("&amp;", "&")]
        return names.reduce(text) { text, name in
            text.split(separator: name.0, omittingEmptySubsequences: false).joined(separator: name.1)
        }
    }
}
