import PCastMedia

/// Whom a limit per address counts as one: an IPv4 address, or the 64 leading bits of an IPv6 one, for a single customer
/// has all addresses of such a network (RFC 6177).
struct AddressBlock: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    /// - Parameter address: nil for a connection that is gone already; all of those are one.
    init(_ address: IPAddress?) {
        high = address?.v6.high ?? 0
        low = address?.v4 == nil ? 0 : address?.v6.low ?? 0
    }
}
