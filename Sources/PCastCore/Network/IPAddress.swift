/// An IPv4 or IPv6 address.
///
/// An IPv4-mapped IPv6 address (`::ffff:a.b.c.d`) is always stored as the IPv4 address. Otherwise one peer would have
/// two addresses, and limits, tokens and candidates would not match it.
public struct IPAddress: Hashable, Sendable {
    /// The version of the Internet Protocol.
    public enum Family: UInt8, Sendable { case v4, v6 }

    /// The version of the address.
    public let family: Family

    /// The address in network byte order; an IPv4 address is in the lower 32 bits of `low`.
    private let high: UInt64
    private let low: UInt64

    private init(family: Family, high: UInt64, low: UInt64) {
        self.family = family
        self.high = high
        self.low = low
    }

    /// Creates an IPv4 address from its 32 bits; the first octet is the uppermost.
    public init(v4 value: UInt32) {
        self.init(family: .v4, high: 0, low: UInt64(value))
    }

    /// Creates an IPv6 address from two big-endian halves, or an IPv4 address if it is IPv4-mapped (`::ffff:0:0/96`).
    public init(v6 high: UInt64, _ low: UInt64) {
        if high == 0, low >> 32 == 0xFFFF {
            self.init(v4: UInt32(truncatingIfNeeded: low))
        } else {
            self.init(family: .v6, high: high, low: low)
        }
    }

    /// The 32 bits of an IPv4 address; nil for IPv6.
    public var v4: UInt32? { family == .v4 ? UInt32(truncatingIfNeeded: low) : nil }

    /// The 16 bytes as two big-endian halves; an IPv4 address is IPv4-mapped.
    public var v6: (high: UInt64, low: UInt64) {
        family == .v4 ? (0, 0xFFFF_0000_0000 | low) : (high, low)
    }

    /// The IPv4 address 0.0.0.0.
    public static let anyV4 = IPAddress(v4: 0)
    /// The IPv4 address 127.0.0.1.
    public static let loopbackV4 = IPAddress(v4: 0x7F00_0001)

    /// Whether this is a loopback address: 127.0.0.0/8 or ::1.
    public var isLoopback: Bool { v4.map { $0 >> 24 == 127 } ?? (high == 0 && low == 1) }

    /// Whether this is the unspecified address: 0.0.0.0 or ::.
    public var isUnspecified: Bool { high == 0 && low == 0 }

    /// Whether this is a link-local address: 169.254.0.0/16 or fe80::/10.
    public var isLinkLocal: Bool { v4.map { $0 >> 16 == 0xA9FE } ?? (high >> 54 == 0xFE80 >> 6) }
}

extension IPAddress: CustomStringConvertible, LosslessStringConvertible {
    /// Parses dotted decimal IPv4 (RFC 1123, section 2.1) or IPv6 without a zone (RFC 4291, section 2.2); nil for other
    /// text.
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

    /// Parses groups of IPv6. The last two groups of an address may be a dotted IPv4 address.
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

    /// The address in dotted decimal form, or in the canonical form of IPv6 (RFC 5952).
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

extension IPAddress {
    /// Whether this is an address of the public internet. It is false for the special-purpose addresses of RFC 6890 and
    /// of IANA's registries: this host, private networks, documentation, multicast and others.
    ///
    /// An address from an unauthenticated or untrusted source is contacted only if it is public, because it may
    /// otherwise name a host behind the platform's firewall. An address that embeds an IPv4 address (NAT64, 6to4) is
    /// public if that address is.
    public var isPublic: Bool {
        if let embedded { return embedded.isPublic }
        return !Self.special.contains { $0.contains(self) }
    }

    /// The embedded IPv4 address to which a translator forwards; nil if there is none.
    package var embedded: IPAddress? {
        guard family == .v6 else { return nil }
        let (high, low) = v6
        // The well-known prefix of NAT64 (RFC 6052, section 2.1).
        if high == 0x0064_FF9B_0000_0000, low >> 32 == 0 { return IPAddress(v4: UInt32(truncatingIfNeeded: low)) }
        // 6to4 (RFC 3056, section 2).
        if high >> 48 == 0x2002 { return IPAddress(v4: UInt32(truncatingIfNeeded: high >> 16)) }
        return nil
    }

    private static let special: [IPNetwork] = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4", "::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23",
        "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
    ].compactMap { IPNetwork($0) }
}

/// A block of IP addresses such as `192.168.0.0/16`, or a single address.
public struct IPNetwork: Hashable, Sendable {
    /// An address of the block.
    public let address: IPAddress
    /// The number of leading bits that all addresses have in common: at most 32 for IPv4, 128 for IPv6.
    public let prefix: Int

    /// Creates a block; nil if the prefix is negative or longer than the address.
    public init?(_ address: IPAddress, prefix: Int) {
        guard (0...Self.bits(of: address)).contains(prefix) else { return nil }
        self.address = address
        self.prefix = prefix
    }

    /// Returns whether an address is in the block. An address of the other IP version is not.
    public func contains(_ other: IPAddress) -> Bool {
        guard other.family == address.family else { return false }
        // An IPv4 address is in the last 32 bits of its mapped form.
        let length = address.family == .v4 ? prefix + 96 : prefix
        let (own, asked) = (address.v6, other.v6)
        let high = Self.mask(min(length, 64))
        let low = Self.mask(max(length - 64, 0))
        return own.high & high == asked.high & high && own.low & low == asked.low & low
    }

    private static func bits(of address: IPAddress) -> Int { address.family == .v4 ? 32 : 128 }

    private static func mask(_ length: Int) -> UInt64 { length == 0 ? 0 : ~0 << UInt64(64 - length) }
}

extension IPNetwork: CustomStringConvertible, LosslessStringConvertible {
    /// Parses an address with an optional prefix length, such as `10.0.0.0/8` or `::1`; nil for other text.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(String(first)) else { return nil }
        guard parts.count == 2 else {
            self.init(address, prefix: Self.bits(of: address))
            return
        }
        guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let prefix = Int(parts[1]) else { return nil }
        self.init(address, prefix: prefix)
    }

    /// The text form. It omits the prefix length of a single address.
    public var description: String {
        prefix == Self.bits(of: address) ? address.description : "\(address)/\(prefix)"
    }
}
