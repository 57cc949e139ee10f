public import PCastMedia

/// A network address translator: each inner address has an outer one towards the world, until the translator forgets
/// and gives it another (a rebinding); then nothing that is sent to the former outer address arrives.
public struct AddressTranslation: Sendable {
    private let outside: IPAddress
    private var nextPort: UInt16
    private var outward: [TransportAddress: TransportAddress] = [:]
    private var inward: [TransportAddress: TransportAddress] = [:]

    /// - Parameters:
    ///   - outside: of all that come through.
    ///   - firstPort: later mappings count on from it.
    public init(outside: IPAddress, firstPort: UInt16 = 40_000) {
        self.outside = outside
        nextPort = firstPort
    }

    /// The outer address of an inner one.
    public mutating func translate(_ inner: TransportAddress) -> TransportAddress {
        if let outer = outward[inner] { return outer }
        let outer = TransportAddress(ip: outside, port: nextPort)
        nextPort = nextPort == .max ? 1_024 : nextPort + 1
        outward[inner] = outer
        inward[outer] = inner
        return outer
    }

    /// Whom an outer address belongs to; nil for one that was forgotten.
    public func inner(of outer: TransportAddress) -> TransportAddress? { inward[outer] }

    /// Forgets all mappings.
    public mutating func rebind() {
        outward.removeAll()
        inward.removeAll()
    }
}
