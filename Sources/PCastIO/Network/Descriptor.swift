import CLinux
import Glibc
import PCastCore

/// A file descriptor that is closed when the object is released. It is immutable, so any thread may use it.
package final class Descriptor: Sendable {
    /// The number of the descriptor.
    package let number: Int32

    /// Takes over the descriptor that a system call returned.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if the call failed.
    package init(_ number: Int32, from call: String) throws(IOError) {
        guard number >= 0 else { throw .system(call: call, errno: Errno.current) }
        self.number = number
    }

    /// Opens /dev/null.
    ///
    /// - Throws: ``IOError/system(call:errno:)``.
    package static func null() throws(IOError) -> Descriptor {
        try Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC), from: "open")
    }

    deinit { close(number) }

    /// Creates a nonblocking socket that other programs do not inherit.
    static func socket(_ family: IPAddress.Family, _ kind: Int) throws(IOError) -> Descriptor {
        let kind = Int32(kind | CLINUX_SOCK_NONBLOCK | CLINUX_SOCK_CLOEXEC)
        return try Descriptor(Glibc.socket(family == .v4 ? AF_INET : AF_INET6, kind, 0), from: "socket")
    }

    /// Sets an integer option. Returns false if the kernel refused it.
    @discardableResult
    func set(_ level: Int32, _ option: Int32, _ value: Int32) -> Bool {
        withUnsafePointer(to: value) {
            setsockopt(number, level, option, $0, socklen_t(MemoryLayout<Int32>.size)) == 0
        }
    }

    func get(_ level: Int32, _ option: Int32) -> Int32 {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(number, level, option, &value, &size) == 0 ? value : 0
    }
}

/// A kernel filter that lets a socket receive packets of this host's programs only (`SO_ATTACH_FILTER` of socket(7)).
///
/// Packets between two addresses of the same host arrive at the loopback interface. Packets from a network never do,
/// whatever source address they have. The kernel drops the others without an ICMP error or a TCP reset.
enum LocalTrafficFilter {
    /// The index of the loopback interface, which is the first one of each network namespace (`LOOPBACK_IFINDEX` of
    /// linux/net/flow.h).
    private static let loopbackIndex: UInt32 = 1

    /// Attaches the filter. It must be called before the socket is bound, so that no other packet is queued.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if the kernel refuses it, as in some sandboxes. The socket must not be
    ///   used then.
    static func attach(to descriptor: Descriptor) throws(IOError) {
        var program = [
            step(BPF_LD | BPF_W | BPF_ABS, UInt32(bitPattern: SKF_AD_OFF + SKF_AD_IFINDEX)),
            sock_filter(code: UInt16(BPF_JMP | BPF_JEQ | BPF_K), jt: 0, jf: 1, k: loopbackIndex),
            step(BPF_RET | BPF_K, .max), step(BPF_RET | BPF_K, 0),
        ]
        let isAttached = program.withUnsafeMutableBufferPointer { buffer in
            var filter = sock_fprog(len: UInt16(buffer.count), filter: buffer.baseAddress)
            return setsockopt(
                descriptor.number, SOL_SOCKET, SO_ATTACH_FILTER, &filter, socklen_t(MemoryLayout<sock_fprog>.size)) == 0
        }
        guard isAttached else { throw .system(call: "setsockopt", errno: Errno.current) }
    }

    private static func step(_ code: Int32, _ value: UInt32) -> sock_filter {
        sock_filter(code: UInt16(code), jt: 0, jf: 0, k: value)
    }
}

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
