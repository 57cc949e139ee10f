/// An IPv4 or IPv6 address. An IPv4-mapped IPv6 address (`::ffff:a.b.c.d`) is always held as the IPv4 address that it
/// means, so that limits, tokens and candidates agree on who a peer is (IO6).
public struct IPAddress: Hashable, Sendable {
    public enum Family: UInt8, Sendable { case v4, v6 }

    public let family: Family

    /// The address in network order, packed: IPv4 in the low 32 bits of `low`.
    private let high: UInt64
    private let low: UInt64

    private init(family: Family, high: UInt64, low: UInt64) {
        self.family = family
        self.high = high
        self.low = low
    }

    public init(v4 value: UInt32) {
        self.init(family: .v4, high: 0, low: UInt64(value))
    }

    /// Unmaps `::ffff:0:0/96`.
    public init(v6 high: UInt64, _ low: UInt64) {
        if high == 0, low >> 32 == 0xFFFF {
            self.init(v4: UInt32(truncatingIfNeeded: low))
        } else {
            self.init(family: .v6, high: high, low: low)
        }
    }

    /// The value of an IPv4 address; nil for IPv6.
    public var v4: UInt32? { family == .v4 ? UInt32(truncatingIfNeeded: low) : nil }

    /// The sixteen bytes as two big-endian halves; IPv4 as IPv4-mapped.
    public var v6: (high: UInt64, low: UInt64) {
        family == .v4 ? (0, 0xFFFF_0000_0000 | low) : (high, low)
    }

    public static let anyV4 = IPAddress(v4: 0)
    public static let loopbackV4 = IPAddress(v4: 0x7F00_0001)

    public var isLoopback: Bool { v4.map { $0 >> 24 == 127 } ?? (high == 0 && low == 1) }

    public var isUnspecified: Bool { high == 0 && low == 0 }

    public var isLinkLocal: Bool { v4.map { $0 >> 16 == 0xA9FE } ?? (high >> 54 == 0xFE80 >> 6) }
}

extension IPAddress: CustomStringConvertible, LosslessStringConvertible {
    /// Reads the textual forms of RFC 1123 (dotted IPv4) and RFC 4291, section 2.2 (IPv6, no zone).
    public init?(_ text: String) {
        if let v4 = Self.parseV4(text.utf8[...]) {
            self.init(v4: v4)
        } else if let (high, low) = Self.parseV6(text) {
            self.init(v6: high, low)
        } else {
            return nil
        }
    }

    private static func parseV4(_ text: Substring.UTF8View) -> UInt32? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var value: UInt32 = 0
        for part in parts {
            guard (1...3).contains(part.count), part.allSatisfy({ (0x30...0x39).contains($0) }),
                let byte = UInt8(Substring(part))
            else { return nil }
            value = value << 8 | UInt32(byte)
        }
        return value
    }

    private static func parseV6(_ text: String) -> (UInt64, UInt64)? {
        guard text.utf8.count <= 45 else { return nil }
        var head: [UInt16] = []
        var tail: [UInt16] = []
        let halves = text.split(separator: "::", maxSplits: 2, omittingEmptySubsequences: false)
        guard halves.count <= 2 else { return nil }
        guard Self.parseGroups(halves[0], isEnd: halves.count == 1, into: &head) else { return nil }
        if halves.count == 2 {
            guard Self.parseGroups(halves[1], isEnd: true, into: &tail), head.count + tail.count < 8 else { return nil }
        } else if head.count != 8 {
            return nil
        }
        let groups = head + Array(repeating: 0, count: 8 - head.count - tail.count) + tail
        let pack = { (range: Range<Int>) in groups[range].reduce(UInt64(0)) { $0 << 16 | UInt64($1) } }
        return (pack(0..<4), pack(4..<8))
    }

    /// Dotted IPv4 may stand for the last two groups of an address, so only where the text is its end.
    private static func parseGroups(_ text: Substring, isEnd: Bool, into groups: inout [UInt16]) -> Bool {
        if text.isEmpty { return true }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if isEnd, index == parts.count - 1, let v4 = parseV4(part.utf8) {
                groups.append(UInt16(v4 >> 16))
                groups.append(UInt16(truncatingIfNeeded: v4))
            } else if (1...4).contains(part.utf8.count), part.allSatisfy({ $0.isASCII && $0.isHexDigit }),
                let group = UInt16(part, radix: 16)
            {
                groups.append(group)
            } else {
                return false
            }
            if groups.count > 8 { return false }
        }
        return true
    }

    /// Dotted IPv4, or IPv6 in the canonical form of RFC 5952.
    public var description: String {
        if let v4 {
            return "\(v4 >> 24).\(v4 >> 16 & 255).\(v4 >> 8 & 255).\(v4 & 255)"
        }
        let groups = (0..<8).map { index in
            UInt16(truncatingIfNeeded: (index < 4 ? high : low) >> UInt64(48 - 16 * (index % 4)))
        }
        var longest = 0..<0
        var index = 0
        while index < 8 {
            var end = index
            while end < 8, groups[end] == 0 { end += 1 }
            if end - index > max(1, longest.count) { longest = index..<end }
            index = end + 1
        }
        let text = { (range: Range<Int>) in
            groups[range].map { String($0, radix: 16) }.joined(separator: ":")
        }
        return longest.isEmpty ? text(0..<8) : text(0..<longest.lowerBound) + "::" + text(longest.upperBound..<8)
    }
}
