import CLinux
import Glibc
package import PCastCore

/// Resolution of host names by the system. It blocks, so it is only for the start of a program or for threads that may
/// block. The thread of an event loop must not wait for a DNS server.
package enum NameResolution {
    /// Resolves text such as `203.0.113.7:3478`, `[2001:db8::1]:3478` or `stun.example.org:3478`. Returns the addresses
    /// in the system's order; empty if there are none.
    package static func resolve(_ text: String) -> [TransportAddress] {
        if let address = TransportAddress(text) { return [address] }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return []
        }
        return resolve(host: String(text[..<colon]), port: port)
    }

    /// Resolves a name or an address, IPv6 without brackets, as other programs of this host do. Numbers in any form
    /// that the system accepts are addresses too. Returns an empty array if there are none.
    package static func resolve(host: String, port: UInt16) -> [TransportAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(CLINUX_SOCK_DGRAM)
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &first) == 0 else { return [] }
        defer { freeaddrinfo(first) }
        var found: [TransportAddress] = []
        var next = first
        while let entry = next {
            if let name = entry.pointee.ai_addr, var address = SocketAddress.read(from: UnsafeRawPointer(name)) {
                address.port = port
                if !found.contains(address) { found.append(address) }
            }
            next = entry.pointee.ai_next
        }
        return found
    }
}
