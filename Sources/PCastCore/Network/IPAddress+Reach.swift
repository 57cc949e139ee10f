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
    private var embedded: IPAddress? {
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
