package import PCastCore

/// A network address translator (NAT) that maps each inner address to an outer one.
///
/// A rebinding removes all mappings and then creates others. Packets to the former outer addresses do not arrive any
/// more.
package struct AddressTranslation: Sendable {
    private let outside: IPAddress
    private var nextPort: UInt16
    private var outerByInner: [TransportAddress: TransportAddress] = [:]
    private var innerByOuter: [TransportAddress: TransportAddress] = [:]

    /// Creates a translator whose outer addresses have the IP address `outside`, and ports that count up from
    /// `firstPort`.
    package init(outside: IPAddress, firstPort: UInt16 = 40_000) {
        self.outside = outside
        nextPort = firstPort
    }

    /// Returns the outer address of an inner one. Creates the mapping if there is none.
    package mutating func translate(_ inner: TransportAddress) -> TransportAddress {
        if let outer = outerByInner[inner] { return outer }
        let outer = TransportAddress(ip: outside, port: nextPort)
        nextPort = nextPort == .max ? 1_024 : nextPort + 1
        outerByInner[inner] = outer
        innerByOuter[outer] = inner
        return outer
    }

    /// Returns the inner address of an outer one; nil if no mapping exists any more.
    package func inner(of outer: TransportAddress) -> TransportAddress? { innerByOuter[outer] }

    /// Removes all mappings.
    package mutating func rebind() {
        outerByInner.removeAll()
        innerByOuter.removeAll()
    }
}
