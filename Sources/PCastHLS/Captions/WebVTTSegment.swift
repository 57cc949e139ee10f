public import PCastMedia

/// A segment of subtitles (WebVTT, W3C; RFC 8216, section 3.5), as far as it is played: texts and their times.
public struct WebVTTSegment: Hashable, Sendable {
    public struct Cue: Hashable, Sendable {
        public var start: TimeSpan
        public var end: TimeSpan
        /// Lines, without what says how they look.
        public var text: String
    }

    public var cues: [Cue] = []
    /// How far the media's clock is ahead of the times of cues (`X-TIMESTAMP-MAP`).
    public var clockOffset = TimeSpan.zero

    static let cueLimit = 10_000

    /// - Returns: nil for what does not begin as WebVTT does.
    public init?(_ bytes: [UInt8]) {
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

    private static func offset(_ text: Substring) -> TimeSpan {
        var (local, ticks) = (TimeSpan.zero, Int64(0))
        for part in text.split(separator: ",") {
            if part.hasPrefix("LOCAL:") { local = time(part.dropFirst(6)) ?? .zero }
            if part.hasPrefix("MPEGTS:") { ticks = part.dropFirst(7).utf8.trimmed.decimal(upTo: (1 << 33) - 1) ?? 0 }
        }
        return ClockRate.video.span(ofTicks: ticks) - local
    }

    private static func times(_ line: Substring) -> (start: TimeSpan, end: TimeSpan)? {
        guard let arrow = line.firstRange(of: "-->") else { return nil }
        let behind = line[arrow.upperBound...].drop { $0 == " " || $0 == "\t" }
        guard let start = time(line[..<arrow.lowerBound]), let end = time(behind.prefix { $0 != " " && $0 != "\t" }),
            end > start
        else { return nil }
        return (start, end)
    }

    /// `HH:MM:SS.mmm`, hours left out perhaps.
    private static func time(_ text: Substring) -> TimeSpan? {
        let parts = Substring(text.utf8.trimmed).split(separator: ":")
        guard (2...3).contains(parts.count), let last = parts.last, let seconds = last.utf8.billionths(upTo: 60),
            let minutes = parts[parts.count - 2].utf8.decimal(upTo: 59)
        else { return nil }
        let hours = parts.count == 3 ? parts[0].utf8.decimal(upTo: 1_000_000) : 0
        return hours.map { .seconds($0 * 3_600 + minutes * 60) + TimeSpan(nanoseconds: seconds) }
    }

    /// Without tags, and with what stands for characters replaced.
    private static func plain(_ line: Substring) -> String {
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
