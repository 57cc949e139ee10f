import CLinux
import Glibc
import PCastMedia

/// Which of the sockets that share an address the kernel gives a datagram to: a program that runs there for each of them
/// (SO_ATTACH_REUSEPORT_CBPF of socket(7); the classic BPF of Linux' Documentation/networking/filter.rst).
///
/// Each loop has two of them, in the order in which they were bound: one for what is read as it comes, and behind it the one
/// for what may wait. Of several loops one is chosen by who sent the datagram, so that all of a sender's come to the same.
struct SocketChoice {
    let patterns: [DatagramPattern]
    /// How many loops share the address.
    let loops: Int
    let family: IPAddress.Family

    /// Has the kernel choose so from now on; answers false where it refuses, as before Linux 4.5, and in some sandboxes.
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

    // MARK: The program

    /// Its register is the number of the socket in the end. A datagram of one byte ends it early, and goes to the first.
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

    /// By the sender's address and port, which lie in the header before the datagram (RFC 791, RFC 8200): of one with
    /// options it may be something else, which is the same for all of a sender's as well.
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
            // The upper bits are those that all lower ones have a part in.
            step(BPF_ALU | BPF_RSH | BPF_K, 16), step(BPF_ALU | BPF_MOD | BPF_K, UInt32(loops)),
        ]
    }

    /// Offsets from there on are of the network's header.
    private var networkHeader: UInt32 { UInt32(bitPattern: SKF_NET_OFF) }

    private func step(_ code: Int32, _ value: UInt32, otherwise skipped: UInt8 = 0) -> sock_filter {
        sock_filter(code: UInt16(code), jt: 0, jf: skipped, k: value)
    }
}
