import PCastCore
import PCastIO

/// Which addresses of this machine a call uses.
enum LocalAddresses {
    /// Where sockets are bound: on loopback alone for a platform there, else on every address. Port 0, a free one.
    static func toListen(for platform: PlatformAddress) throws(IOError) -> [TransportAddress] {
        if platform.isLoopback {
            let ip = IPAddress(platform.host) ?? .loopbackV4
            let others: [IPAddress] = ip.family == .v6 ? [.loopbackV4] : []
            return ([ip] + others).map { TransportAddress(ip: $0, port: 0) }
        }
        let hasV6 = try LocalAddress.all().contains { $0.ip.family == .v6 && !$0.isLoopback }
        return ([.anyV4] + (hasV6 ? [IPAddress(v6: 0, 0)] : [])).map { TransportAddress(ip: $0, port: 0) }
    }

    /// What bound sockets stand for: every address of an interface for an unspecified one.
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
