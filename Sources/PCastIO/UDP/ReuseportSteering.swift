import CLinux
import Glibc
import PCastCore

/// A kernel program that selects the socket for a datagram among those that share an address
/// (`SO_ATTACH_REUSEPORT_CBPF` of socket(7); classic BPF in Documentation/networking/filter.rst of Linux).
///
/// Each loop has two sockets, in the order of binding: one for urgent datagrams, then one for deferrable ones. The
/// address of the sender selects the loop, so that all datagrams of a sender arrive at the same one.
struct ReuseportSteering {
    let patterns: [DatagramPattern]
    /// The number of loops that share the address.
    let loops: Int
    let family: IPAddress.Family

    /// Attaches the program to a socket. Returns false if the kernel refuses it, as before Linux 4.5 and in some
    /// sandboxes.
    func attach(to descriptor: Descriptor) -> Bool {
        var instructions = program
        guard instructions.count <= Int(BPF_MAXINSNS) else { return false }
        return instructions.withUnsafeMutableBufferPointer { buffer in
            var program = sock_fprog(len: UInt16(buffer.count), filter: buffer.baseAddress)
            return setsockopt(
                descriptor.number, SOL_SOCKET, Int32(CLINUX_SO_ATTACH_REUSEPORT_CBPF), &program,
                socklen_t(MemoryLayout<sock_fprog>.size)) == 0
        }
    }

    // MARK: Program

    /// The instructions, which return the index of the socket. A datagram of one byte ends the program early and is
    /// delivered to the first socket.
    private var program: [sock_filter] {
        loopNumber + [step(BPF_ALU | BPF_LSH | BPF_K, 1), step(BPF_ST, Self.memory)]
            + patterns.flatMap { pattern in
                [
                    step(BPF_LD | BPF_H | BPF_ABS, 0), step(BPF_ALU | BPF_AND | BPF_K, UInt32(pattern.mask)),
                    step(BPF_JMP | BPF_JEQ | BPF_K, UInt32(pattern.value), otherwise: 3),
                ] + answer(plus: 1)
            } + answer(plus: 0)
    }

    private static let memory: UInt32 = 0

    private func answer(plus number: UInt32) -> [sock_filter] {
        [
            step(BPF_LD | BPF_MEM, Self.memory), step(BPF_ALU | BPF_ADD | BPF_K, number),
            step(BPF_RET | BPF_A, 0),
        ]
    }

    /// The instructions that compute the index of the loop from the sender's address and port, which are in the headers
    /// before the datagram (RFC 791, RFC 8200). If the header has options, other bytes are used, which are also
    /// constant for a sender.
    private var loopNumber: [sock_filter] {
        guard loops > 1 else { return [step(BPF_LD | BPF_IMM, 0)] }
        let words: [Int32] = family == .v4 ? [12] : [8, 12, 16, 20]
        let port: Int32 = family == .v4 ? 20 : 40
        let mixed = words.flatMap { offset in
            [
                step(BPF_MISC | BPF_TAX, 0), step(BPF_LD | BPF_W | BPF_ABS, networkHeader + UInt32(offset)),
                step(BPF_ALU | BPF_XOR | BPF_X, 0), step(BPF_ALU | BPF_MUL | BPF_K, 0x9E37_79B1),
            ]
        }
        return [step(BPF_LD | BPF_IMM, 0)] + mixed + [
            step(BPF_MISC | BPF_TAX, 0), step(BPF_LD | BPF_H | BPF_ABS, networkHeader + UInt32(port)),
            step(BPF_ALU | BPF_XOR | BPF_X, 0), step(BPF_ALU | BPF_MUL | BPF_K, 0x85EB_CA6B),
            // All lower bits contribute to the upper ones.
            step(BPF_ALU | BPF_RSH | BPF_K, 16), step(BPF_ALU | BPF_MOD | BPF_K, UInt32(loops)),
        ]
    }

    /// The base of offsets in the network header.
    private var networkHeader: UInt32 { UInt32(bitPattern: SKF_NET_OFF) }

    private func step(_ code: Int32, _ value: UInt32, otherwise skipped: UInt8 = 0) -> sock_filter {
        sock_filter(code: UInt16(code), jt: 0, jf: skipped, k: value)
    }
}
