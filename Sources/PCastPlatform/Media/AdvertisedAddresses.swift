import PCastCore
import PCastIO

/// The addresses in candidates, according to the current interfaces of this host.
struct AdvertisedAddresses: Sendable {
    /// The addresses that the operator configured. If there are any, candidates contain only these and the discovered
    /// ones.
    let named: [IPAddress]
    /// The public addresses that STUN servers have reported.
    var discovered: [TransportAddress]
    /// The address that media listens on.
    let listen: IPAddress

    /// The maximum number of interface addresses in candidates besides loopback. A host of containers has dozens of
    /// bridges, and a browser on this host reaches the platform through any of them.
    static let maximumInterfaceAddresses = 16

    /// The additional addresses that only accept datagrams of this host's programs.
    ///
    /// Firefox gathers no loopback candidates, and sends nothing from an interface's address to a loopback address (RFC
    /// 8445, section 5.1.1.1). Therefore a platform on loopback must be reachable at the interfaces' addresses too.
    var localOnly: [IPAddress] {
        guard listen.isLoopback, named.isEmpty else { return [] }
        let (v4, v6): (IPAddress, IPAddress) = (.anyV4, IPAddress(v6: 0, 0))
        return listen.family == .v4 ? [v4, v6] : [v6, v4]
    }

    /// Returns the addresses for candidates. `interfaces` are the addresses of this host. `families` are the IP
    /// versions in which media listens at all addresses of this host, at least for its own programs.
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
