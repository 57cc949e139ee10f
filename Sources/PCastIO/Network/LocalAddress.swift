import Glibc
package import PCastCore

/// An address of one of this host's interfaces, from which host candidates are gathered (RFC 8445, section 5.1.1.1).
package struct LocalAddress: Hashable, Sendable {
    /// The IP address.
    package let ip: IPAddress

    /// The name of the interface, such as `eth0`.
    package let interface: String

    /// Whether the interface is the loopback interface.
    package let isLoopback: Bool

    /// Whether the interface has a carrier, so that packets can be sent.
    package let isRunning: Bool

    /// Creates an address.
    package init(ip: IPAddress, interface: String, isLoopback: Bool, isRunning: Bool) {
        self.ip = ip
        self.interface = interface
        self.isLoopback = isLoopback
        self.isRunning = isRunning
    }

    /// Returns the addresses of all interfaces that are up, in the kernel's order. IPv6 link-local addresses are left
    /// out, because they need a zone, which a candidate cannot contain.
    ///
    /// - Throws: ``IOError/system(call:errno:)``.
    package static func all() throws(IOError) -> [LocalAddress] {
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
