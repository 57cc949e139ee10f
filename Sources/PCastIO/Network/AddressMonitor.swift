import CLinux
import Glibc

/// A watch for changes of this host's interfaces and addresses (rtnetlink(7)).
///
/// The messages are not parsed. The caller reads all addresses again.
final class AddressMonitor: Sendable {
    private let descriptor: Descriptor

    var number: Int32 { descriptor.number }

    /// Constants of linux/netlink.h and linux/rtnetlink.h, which cannot be included together with the headers of glibc.
    private static let family: Int32 = 16
    private static let routeProtocol: Int32 = 0
    private static let links: UInt32 = 0x1
    private static let addressesV4: UInt32 = 0x10
    private static let addressesV6: UInt32 = 0x100
    private static let addressSize: socklen_t = 12

    init() throws(IOError) {
        let kind = Int32(CLINUX_SOCK_DGRAM | CLINUX_SOCK_NONBLOCK | CLINUX_SOCK_CLOEXEC)
        descriptor = try Descriptor(socket(Self.family, kind, Self.routeProtocol), from: "socket")
        let bound = withUnsafeTemporaryAllocation(byteCount: Int(Self.addressSize), alignment: 4) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            memory.storeBytes(of: sa_family_t(Self.family), as: sa_family_t.self)
            let groups = Self.links | Self.addressesV4 | Self.addressesV6
            memory.storeBytes(of: groups, toByteOffset: 8, as: UInt32.self)
            return bind(descriptor.number, memory.baseAddress!.assumingMemoryBound(to: sockaddr.self), Self.addressSize)
        }
        guard bound == 0 else { throw .system(call: "bind", errno: Errno.current) }
    }

    /// Reads all pending messages. An overflow of the queue (ENOBUFS) means that there were messages too.
    func drain() {
        withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 8) { memory in
            while recv(descriptor.number, memory.baseAddress!, memory.count, Int32(MSG_DONTWAIT)) > 0
                || Errno.current == ENOBUFS || Errno.current == EINTR
            {}
        }
    }
}
