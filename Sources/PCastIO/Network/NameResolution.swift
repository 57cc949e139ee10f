import CLinux
import Glibc
public import PCastMedia

/// Addresses of host names, asked of the system. It blocks: it is for the start of a program, or for
/// a thread that may wait (ICE8).
public enum NameResolution {
    /// The addresses of `host:port`, in the system's order; empty when there are none.
    ///
    /// - Parameter text: such as `203.0.113.7:3478`, `[2001:db8::1]:3478` or `stun.example.org:3478`.
    public static func resolve(_ text: String) -> [TransportAddress] {
        if let address = TransportAddress(text) { return [address] }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return []
        }
        return resolve(host: String(text[..<colon]), port: port)
    }

    /// The addresses of a host, as every program of this machine would find them: a number in any form is one too.
    ///
    /// - Parameter host: a name or an address, IPv6 without brackets.
    public static func resolve(host: String, port: UInt16) -> [TransportAddress] {
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
