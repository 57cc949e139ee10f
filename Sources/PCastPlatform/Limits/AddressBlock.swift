import PCastCore

/// The unit of limits per address, which is an IPv4 address or the first 64 bits of an IPv6 address. One customer has
/// all addresses of such a network (RFC 6177).
struct AddressBlock: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    /// Creates the unit of an address. All closed connections, whose address is nil, share one unit.
    init(_ address: IPAddress?) {
        high = address?.v6.high ?? 0
        low = address?.v4 == nil ? 0 : address?.v6.low ?? 0
    }
}
