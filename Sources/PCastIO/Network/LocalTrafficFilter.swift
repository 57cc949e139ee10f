import CLinux
import Glibc

/// A filter of the kernel's that lets a socket receive only what programs of this machine send (SO_ATTACH_FILTER of
/// socket(7)).
///
/// Traffic between two addresses of one machine arrives by the loopback interface, whichever addresses it names; nothing
/// from a network does, whatever source it claims. The kernel drops the rest before the socket has any state of it, and
/// answers nothing: neither an ICMP error nor a TCP reset.
enum LocalTrafficFilter {
    /// The loopback interface is the first of each network namespace (LOOPBACK_IFINDEX of linux/net/flow.h).
    private static let loopbackIndex: UInt32 = 1

    /// Attaches the filter; to be called before the socket is bound, so that nothing else is ever queued.
    ///
    /// - Throws: `IOError.system` where the kernel refuses, as in some sandboxes: the socket must not be used then.
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
