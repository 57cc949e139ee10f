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
    func matches(_ name: StaticString) -> Bool {
        elementsEqual(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    /// Returns whether the text begins with an ASCII string.
    func hasPrefix(_ name: StaticString) -> Bool {
        starts(with: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }
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
