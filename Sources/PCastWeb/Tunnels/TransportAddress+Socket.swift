import NIOCore
import PCastCore

extension TransportAddress {
    /// Converts an address of SwiftNIO; nil if it is not an IP address.
    init?(_ address: SocketAddress?) {
        guard let address, let text = address.ipAddress, let port = address.port,
            // A zone is only valid on this host.
            let ip = IPAddress(String(text.prefix { $0 != "%" }))
        else { return nil }
        self.init(ip: ip, port: UInt16(truncatingIfNeeded: port))
    }

    var socketAddress: SocketAddress {
        guard let address = try? SocketAddress(ipAddress: ip.description, port: Int(port)) else {
            preconditionFailure("an IP address must be convertible")
        }
        return address
    }
}
