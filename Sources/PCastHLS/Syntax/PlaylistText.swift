internal import PCastCore

/// A part of a playlist, as UTF-8 bytes because `\r\n` is one `Character`.
typealias PlaylistText = Substring.UTF8View

extension PlaylistText {
    /// The text as a string.
    var string: String { String(Substring(self)) }

    /// Returns the text before the first separator, and the text after it (nil if there is no separator).
    func divided(at separator: Unicode.Scalar) -> (head: PlaylistText, tail: PlaylistText?) {
        guard let index = firstIndex(of: UInt8(ascii: separator)) else { return (self, nil) }
        return (self[..<index], self[self.index(after: index)...])
    }

    /// The text without spaces and tabs around it.
    var trimmed: PlaylistText {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        guard let first = firstIndex(where: { !isSpace($0) }), let last = lastIndex(where: { !isSpace($0) }) else {
            return self[endIndex...]
        }
        return self[first...last]
    }

    /// Returns the value of a number that consists of decimal digits only; nil if it does not or exceeds `maximum`.
    func decimal(upTo maximum: Int64 = PlaylistLimits.number) -> Int64? {
        guard !isEmpty else { return nil }
        var number: Int64 = 0
        for byte in self {
            guard (0x30...0x39).contains(byte) else { return nil }
            let (scaled, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, exceeds) = scaled.addingReportingOverflow(Int64(byte &- 0x30))
            guard !overflows, !exceeds, sum <= maximum else { return nil }
            number = sum
        }
        return number
    }

    /// Returns a decimal fraction in billionths. Further digits are cut off. Returns nil if it is malformed or exceeds
    /// `maximum` units.
    func billionths(upTo maximum: Int64) -> Int64? {
        let (head, tail) = divided(at: ".")
        guard let units = head.decimal(upTo: maximum) else { return nil }
        var fraction: Int64 = 0
        if let tail {
            // Some servers write "10." for 10.
            guard tail.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            for byte in tail.prefix(9) { fraction = fraction * 10 + Int64(byte - 0x30) }
            for _ in 0..<Swift.max(0, 9 - tail.count) { fraction *= 10 }
        }
        return units * 1_000_000_000 + fraction
    }

    /// Returns a duration in decimal seconds, e.g. that of an `EXTINF`; nil if it is malformed or exceeds `maximum`.
    func seconds(upTo maximum: TimeSpan = PlaylistLimits.segmentDuration) -> TimeSpan? {
        billionths(upTo: maximum.nanoseconds / 1_000_000_000).map { TimeSpan(nanoseconds: $0) }
    }

    /// Returns whether the text equals an ASCII string.
    func matches(_ name: String) -> Bool { elementsEqual(name.utf8) }

    /// Returns whether the text begins with an ASCII string.
    func hasPrefix(_ name: String) -> Bool { starts(with: name.utf8) }
}

/// The text of numbers in playlists.
enum PlaylistNumber {
    /// Returns a number of billionths as a decimal fraction without trailing zeros.
    static func text(billionths: Int64) -> String {
        let (units, fraction) = billionths.magnitude.quotientAndRemainder(dividingBy: 1_000_000_000)
        var text = (billionths < 0 ? "-" : "") + String(units)
        guard fraction > 0 else { return text }
        var digits = String(fraction)
        digits = String(repeating: "0", count: 9 - digits.utf8.count) + digits
        while digits.hasSuffix("0") { digits.removeLast() }
        text += "." + digits
        return text
    }
}

/// A line of a playlist that is not ignored.
enum PlaylistLine {
    /// A known tag and the text after its colon, which is empty if there is no colon.
    case tag(PlaylistTag, PlaylistText)
    /// A URI.
    case uri(PlaylistText)
}

/// The lines of a playlist, without comments, unknown tags and empty lines.
struct PlaylistLines {
    private var rest: PlaylistText
    /// The number of the last line that was returned, from 1.
    private(set) var number = 0

    /// Creates a reader and consumes the first line.
    ///
    /// - Parameter text: The playlist.
    /// - Throws: ``PlaylistError`` if the text is too large or does not begin with `#EXTM3U`.
    init(_ text: String) throws(PlaylistError) {
        guard text.utf8.count <= PlaylistLimits.textSize else { throw .tooLarge }
        rest = text[...].utf8
        guard let first = try nextText(), first.trimmed.matches("#EXTM3U") else { throw .notAPlaylist }
    }

    /// Returns the next line; nil at the end.
    ///
    /// - Returns: The tag or URI.
    /// - Throws: ``PlaylistError`` if a line is too long or contains a control character.
    mutating func next() throws(PlaylistError) -> PlaylistLine? {
        while let text = try nextText()?.trimmed {
            guard let first = text.first else { continue }
            guard first == UInt8(ascii: "#") else { return .uri(text) }
            guard text.hasPrefix("#EXT") else { continue }
            let (name, value) = text.dropFirst().divided(at: ":")
            guard let tag = PlaylistTag(rawValue: name.string) else { continue }
            return .tag(tag, (value ?? text[text.endIndex...]).trimmed)
        }
        return nil
    }

    /// Returns the text of the next line without its line ending; nil at the end.
    private mutating func nextText() throws(PlaylistError) -> PlaylistText? {
        guard !rest.isEmpty else { return nil }
        number += 1
        let end = rest.firstIndex(of: 0x0A) ?? rest.endIndex
        var line = rest[..<end]
        rest = end == rest.endIndex ? rest[end...] : rest[rest.index(after: end)...]
        if line.last == 0x0D { line = line.dropLast() }
        guard line.count <= PlaylistLimits.lineSize else { throw .lineTooLong(line: number) }
        // Titles may contain tabs.
        guard line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw .controlCharacter(line: number)
        }
        return line
    }
}
