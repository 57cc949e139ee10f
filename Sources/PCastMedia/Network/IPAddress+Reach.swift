extension IPAddress {
    /// An address of the public internet: none of those that the registries of special-purpose addresses keep for this
    /// machine, a private network, documentation, multicast and the like (RFC 6890 and its successors at IANA).
    ///
    /// What is named by a stranger is reached only if this holds, as it may name what stands behind our own firewall.
    /// Addresses that hold an IPv4 address (NAT64, 6to4) are as public as that is.
    public var isPublic: Bool {
        if let carried { return carried.isPublic }
        return !Self.special.contains { $0.contains(self) }
    }

    /// The IPv4 address that a translator would make of this one.
    private var carried: IPAddress? {
        guard family == .v6 else { return nil }
        let (high, low) = v6
        // The well-known prefix of NAT64 (RFC 6052).
        if high == 0x0064_FF9B_0000_0000, low >> 32 == 0 { return IPAddress(v4: UInt32(truncatingIfNeeded: low)) }
        // 6to4 (RFC 3056).
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
