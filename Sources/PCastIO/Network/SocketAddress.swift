import Glibc
package import PCastCore

/// Conversion of transport addresses to `sockaddr_in` and `sockaddr_in6`, whose layouts are the same on each Linux.
enum SocketAddress {
    /// The size of the larger structure in bytes.
    static let maximumSize = 28

    private static let v4Size = 16

    /// Writes an address into memory of at least `maximumSize` bytes. Returns the used size.
    static func write(_ address: TransportAddress, into memory: UnsafeMutableRawPointer) -> socklen_t {
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: maximumSize)
        memory.storeBytes(of: address.port.bigEndian, toByteOffset: 2, as: UInt16.self)
        guard let v4 = address.ip.v4 else {
            memory.storeBytes(of: sa_family_t(AF_INET6), as: sa_family_t.self)
            write(v6: address.ip, into: memory + 8)
            return socklen_t(maximumSize)
        }
        memory.storeBytes(of: sa_family_t(AF_INET), as: sa_family_t.self)
        memory.storeBytes(of: v4.bigEndian, toByteOffset: 4, as: UInt32.self)
        return socklen_t(v4Size)
    }

    /// Writes the 16 bytes of an IPv6 address.
    static func write(v6 ip: IPAddress, into memory: UnsafeMutableRawPointer) {
        let (high, low) = ip.v6
        memory.storeBytes(of: high.bigEndian, as: UInt64.self)
        memory.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
    }

    /// Reads an address; nil for a family other than IPv4 and IPv6.
    static func read(from memory: UnsafeRawPointer) -> TransportAddress? {
        let port = UInt16(bigEndian: memory.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        switch Int32(memory.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET: return TransportAddress(ip: readV4(memory + 4), port: port)
        case AF_INET6: return TransportAddress(ip: readV6(memory + 8), port: port)
        default: return nil
        }
    }

    static func readV4(_ memory: UnsafeRawPointer) -> IPAddress {
        IPAddress(v4: UInt32(bigEndian: memory.loadUnaligned(as: UInt32.self)))
    }

    static func readV6(_ memory: UnsafeRawPointer) -> IPAddress {
        IPAddress(
            v6: UInt64(bigEndian: memory.loadUnaligned(as: UInt64.self)),
            UInt64(bigEndian: memory.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    /// Calls `body` with an address in the kernel's form.
    static func with<Result>(
        _ address: TransportAddress, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        withUnsafeTemporaryAllocation(byteCount: maximumSize, alignment: 8) { buffer in
            let size = write(address, into: buffer.baseAddress!)
            return body(buffer.baseAddress!.assumingMemoryBound(to: sockaddr.self), size)
        }
    }

    /// Returns the address of a descriptor according to `call`, which is `getsockname` or `getpeername`; nil if it
    /// fails.
    static func ask(
        _ descriptor: Int32,
        _ call: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> TransportAddress? {
        withUnsafeTemporaryAllocation(byteCount: maximumSize, alignment: 8) { buffer in
            var size = socklen_t(maximumSize)
            let name = buffer.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            return call(descriptor, name, &size) == 0 ? read(from: buffer.baseAddress!) : nil
        }
    }
}

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
