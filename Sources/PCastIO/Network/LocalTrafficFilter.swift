import CLinux
import Glibc

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
