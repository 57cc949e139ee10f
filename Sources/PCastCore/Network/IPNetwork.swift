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
