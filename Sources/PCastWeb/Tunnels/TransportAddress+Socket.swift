import NIOCore
import PCastMedia

extension TransportAddress {
    /// Nil for what is no IP address.
    init?(_ address: SocketAddress?) {
        guard let address, let text = address.ipAddress, let port = address.port,
            // A zone means nothing to anyone else.
            let ip = IPAddress(String(text.prefix { $0 != "%" }))
        else { return nil }
        self.init(ip: ip, port: UInt16(truncatingIfNeeded: port))
    }

    var socketAddress: SocketAddress {
        guard let address = try? SocketAddress(ipAddress: ip.description, port: Int(port)) else {
            preconditionFailure("an IP address reads back")
        }
        return address
    }
}
