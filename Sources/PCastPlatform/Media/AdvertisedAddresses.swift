import PCastIO
import PCastMedia

/// The addresses that candidates name, as this machine's interfaces are at a moment.
struct AdvertisedAddresses: Sendable {
    /// Those that the operator has named; candidates name nothing else then but what was discovered.
    let named: [IPAddress]
    /// Public addresses that STUN servers have reported.
    let discovered: [TransportAddress]
    /// The address that media listens on.
    let listen: IPAddress

    /// Candidates name no more interface addresses than these beside loopback: a host of containers has dozens of bridges,
    /// and a browser on this machine reaches all of its addresses by any of them.
    static let maximumInterfaceAddresses = 16

    /// The addresses beside `listen` at which programs of this machine are heard, and nobody else.
    ///
    /// Firefox gathers no loopback candidates, and sends to no loopback address from an interface's (RFC 8445, section
    /// 5.1.1.1); so a platform on loopback has to be reachable at the interfaces' addresses as well.
    var localOnly: [IPAddress] {
        guard listen.isLoopback, named.isEmpty else { return [] }
        let (v4, v6): (IPAddress, IPAddress) = (.anyV4, IPAddress(v6: 0, 0))
        return listen.family == .v4 ? [v4, v6] : [v6, v4]
    }

    /// - Parameters:
    ///   - interfaces: the addresses of this machine.
    ///   - families: those in which media is heard at every address of this machine, by programs of it at least.
    func addresses(port: UInt16, interfaces: [LocalAddress], families: [IPAddress.Family]) -> [TransportAddress] {
        let ips: [IPAddress] =
            if !named.isEmpty {
                named
            } else if listen.isUnspecified {
                interfaces.map(\.ip).filter { families.contains($0.family) }
            } else {
                [listen]
                    + interfaces.lazy.filter { !$0.isLoopback && $0.ip != listen && families.contains($0.ip.family) }
                    .map(\.ip).prefix(Self.maximumInterfaceAddresses)
            }
        let own = ips.map { TransportAddress(ip: $0, port: port) }
        return own + discovered.filter { !own.contains($0) }
    }
}
