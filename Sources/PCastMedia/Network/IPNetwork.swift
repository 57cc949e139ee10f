/// A block of IP addresses, written as `192.168.0.0/16`, or a single address.
public struct IPNetwork: Hashable, Sendable {
    /// Its first address.
    public let address: IPAddress
    /// How many leading bits its addresses have in common: at most 32 for IPv4, 128 for IPv6.
    public let prefix: Int

    /// - Returns: nil for a prefix that is no length of such an address.
    public init?(_ address: IPAddress, prefix: Int) {
        guard (0...Self.bits(of: address)).contains(prefix) else { return nil }
        self.address = address
        self.prefix = prefix
    }

    public func contains(_ other: IPAddress) -> Bool {
        guard other.family == address.family else { return false }
        // IPv4 stands in the last 32 bits of its mapped form.
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

    public var description: String {
        prefix == Self.bits(of: address) ? address.description : "\(address)/\(prefix)"
    }
}
