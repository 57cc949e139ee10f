import ArgumentParser
import PCastCore
import PCastPlatform

/// The address that a platform listens on, such as `127.0.0.1:8080`, `[::1]:8080` or `0.0.0.0:0`.
struct ListenArgument: ExpressibleByArgument, Equatable {
    let host: String
    let port: UInt16

    /// The default address.
    static let standard = ListenArgument(host: "127.0.0.1", port: 8080)

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":"), let port = UInt16(argument[argument.index(after: colon)...])
        else { return nil }
        var host = argument[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.init(host: String(host), port: port)
    }

    /// Whether only programs of this host can reach the address.
    var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
}

extension ListenArgument: CustomStringConvertible {
    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// An IPv4 or IPv6 address.
struct AddressArgument: ExpressibleByArgument, Equatable {
    let address: IPAddress

    init?(argument: String) {
        guard let address = IPAddress(argument) else { return nil }
        self.address = address
    }
}

/// A block of addresses such as `10.0.0.0/8`, or a single address.
struct NetworkArgument: ExpressibleByArgument {
    let network: IPNetwork

    init?(argument: String) {
        guard let network = IPNetwork(argument) else { return nil }
        self.network = network
    }
}

/// A range of ports such as `9000-9010`, or one port.
struct PortsArgument: ExpressibleByArgument {
    let ports: ClosedRange<UInt16>

    init?(argument: String) {
        let parts = argument.split(separator: "-", omittingEmptySubsequences: false).map { UInt16($0) }
        guard (1...2).contains(parts.count), let first = parts[0], let last = parts[parts.count - 1], first > 0,
            first <= last
        else { return nil }
        ports = first...last
    }
}

/// The header field of a proxy: `x-forwarded-for` or `forwarded`.
struct ProxyFieldArgument: ExpressibleByArgument {
    let field: ForwardedHeader

    init?(argument: String) {
        guard let field = ForwardedHeader(rawValue: argument.lowercased()) else { return nil }
        self.field = field
    }
}
