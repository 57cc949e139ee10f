import PCastCore

/// IP addresses and transport addresses as text.
enum IPAddressTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        let ip = IPAddress(text)
        if let ip {
            try check(IPAddress(ip.description) == ip, "an address that changed: \(ip)")
            try check(ip.description.utf8.count <= 39, "a long address: \(ip)")
            try check(text.utf8.allSatisfy { $0 < 0x80 && !($0 == 0x2B || $0 == 0x2D) }, "\(text) is no address")
        }
        let address = TransportAddress(text)
        if let address {
            try check(TransportAddress(address.description) == address, "an address that changed: \(address)")
            try check(text.utf8.allSatisfy { $0 != 0x2B && $0 != 0x2D }, "\(text) is no address")
        }
        return ip != nil || address != nil
    }

    static let corpus: [[UInt8]] = [
        "192.0.2.1", "0.0.0.0", "2001:db8::8:800:200c:417a", "::", "::1", "1::", "::ffff:192.0.2.128",
        "64:ff9b::1.2.3.4",
        "2001:DB8:0:0:1:0:0:1", "192.0.2.1:8189", "[2001:db8::1]:65535", "[::ffff:10.0.0.1]:0",
    ].map { Array($0.utf8) }
}
