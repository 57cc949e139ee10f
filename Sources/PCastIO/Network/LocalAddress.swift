import Glibc
public import PCastMedia

/// An address of one of this machine's interfaces: what host candidates are gathered from (RFC 8445, section 5.1.1.1).
public struct LocalAddress: Hashable, Sendable {
    public let ip: IPAddress

    /// The interface's name, such as `eth0`.
    public let interface: String

    public let isLoopback: Bool

    /// The interface has a carrier: what is sent gets somewhere.
    public let isRunning: Bool

    public init(ip: IPAddress, interface: String, isLoopback: Bool, isRunning: Bool) {
        self.ip = ip
        self.interface = interface
        self.isLoopback = isLoopback
        self.isRunning = isRunning
    }

    /// The addresses of every interface that is up, in the kernel's order. IPv6 link-local addresses are left out:
    /// they mean nothing without their zone, which a candidate cannot name.
    public static func all() throws(IOError) -> [LocalAddress] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { throw .system(call: "getifaddrs", errno: Errno.current) }
        defer { freeifaddrs(first) }
        var found: [LocalAddress] = []
        var next = first
        while let entry = next {
            if let address = LocalAddress(entry.pointee), !found.contains(address) { found.append(address) }
            next = entry.pointee.ifa_next
        }
        return found
    }

    private init?(_ entry: ifaddrs) {
        let flags = Int32(truncatingIfNeeded: entry.ifa_flags)
        guard let name = entry.ifa_addr, flags & Int32(IFF_UP) != 0,
            let address = SocketAddress.read(from: UnsafeRawPointer(name)),
            address.ip.family == .v4 || !address.ip.isLinkLocal
        else { return nil }
        ip = address.ip
        interface = String(cString: entry.ifa_name)
        isLoopback = flags & Int32(IFF_LOOPBACK) != 0
        isRunning = flags & Int32(IFF_RUNNING) != 0
    }
}
