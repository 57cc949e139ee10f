internal import PCastMedia

/// A piece of a playlist. Bytes and not characters, as `\r\n` is one character.
typealias PlaylistText = Substring.UTF8View

extension PlaylistText {
    var string: String { String(Substring(self)) }

    /// The text before the first `separator`, and the text after it (nil without one).
    func divided(at separator: Unicode.Scalar) -> (head: PlaylistText, tail: PlaylistText?) {
        guard let index = firstIndex(of: UInt8(ascii: separator)) else { return (self, nil) }
        return (self[..<index], self[self.index(after: index)...])
    }

    /// Without spaces and tabs around it.
    var trimmed: PlaylistText {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        guard let first = firstIndex(where: { !isSpace($0) }), let last = lastIndex(where: { !isSpace($0) }) else {
            return self[endIndex...]
        }
        return self[first...last]
    }

    /// A number in decimal digits only, of at most `maximum`.
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

    /// A decimal fraction in billionths of its unit, further digits cut off; at most `maximum` units.
    func billionths(upTo maximum: Int64) -> Int64? {
        let (head, tail) = divided(at: ".")
        guard let units = head.decimal(upTo: maximum) else { return nil }
        var fraction: Int64 = 0
        if let tail {
            // "10." is written by some servers.
            guard tail.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            for byte in tail.prefix(9) { fraction = fraction * 10 + Int64(byte - 0x30) }
            for _ in 0..<Swift.max(0, 9 - tail.count) { fraction *= 10 }
        }
        return units * 1_000_000_000 + fraction
    }

    /// Seconds as a decimal fraction: what an `EXTINF` holds.
    func seconds(upTo maximum: TimeSpan = PlaylistLimits.segmentDuration) -> TimeSpan? {
        billionths(upTo: maximum.nanoseconds / 1_000_000_000).map { TimeSpan(nanoseconds: $0) }
    }

    func matches(_ name: StaticString) -> Bool {
        elementsEqual(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    func hasPrefix(_ name: StaticString) -> Bool {
        starts(with: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }
}

/// How numbers are written.
enum PlaylistNumber {
    /// A decimal fraction of billionths, without zeros at its end.
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
