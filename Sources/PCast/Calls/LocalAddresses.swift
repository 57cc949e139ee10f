import PCastCore
import PCastIO

/// The addresses of this machine that a call uses.
enum LocalAddresses {
    /// Returns the addresses to which sockets are bound: loopback only if the platform is on loopback, else every
    /// address. The port is 0, for an ephemeral one. Throws an error if the interfaces cannot be read.
    static func toListen(for platform: PlatformAddress) throws(IOError) -> [TransportAddress] {
        if platform.isLoopback {
            let ip = IPAddress(platform.host) ?? .loopbackV4
            let others: [IPAddress] = ip.family == .v6 ? [.loopbackV4] : []
            return ([ip] + others).map { TransportAddress(ip: $0, port: 0) }
        }
        let hasV6 = try LocalAddress.all().contains { $0.ip.family == .v6 && !$0.isLoopback }
        return ([.anyV4] + (hasV6 ? [IPAddress(v6: 0, 0)] : [])).map { TransportAddress(ip: $0, port: 0) }
    }

    /// Returns the candidate addresses of bound sockets. An unspecified address stands for the address of each running
    /// interface.
    static func candidates(of bound: [TransportAddress]) -> [TransportAddress] {
        let interfaces = ((try? LocalAddress.all()) ?? []).filter { !$0.isLoopback && $0.isRunning }
        return bound.flatMap { address -> [TransportAddress] in
            guard address.ip.isUnspecified else { return [address] }
            let named = interfaces.filter { $0.ip.family == address.ip.family }.map(\.ip)
            // A machine without a network still has the socket itself.
            return (named.isEmpty ? [address.ip] : named).map { TransportAddress(ip: $0, port: address.port) }
        }
    }
}
