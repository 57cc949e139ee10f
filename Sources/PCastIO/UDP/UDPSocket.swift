import CLinux
import Glibc
import PCastCore

/// A bound, nonblocking UDP socket. It is immutable, so one thread may bind it and another one use it.
final class UDPSocket: Sendable {
    /// The requested and actual sizes of the kernel's buffers in bytes of payload.
    struct BufferSizes: Hashable, Sendable {
        let asked: Int
        let receive: Int
        let send: Int
    }

    private let descriptor: Descriptor

    /// The bound address with the actual port.
    let address: TransportAddress

    let bufferSizes: BufferSizes

    /// Whether the socket receives datagrams of this host's programs only.
    let isLocalOnly: Bool

    /// Whether the kernel combines consecutive datagrams into one message (`UDP_GRO`). It is not supported before Linux
    /// 5.0 and in some sandboxes.
    let coalesces: Bool

    var number: Int32 { descriptor.number }

    /// Binds an address exclusively. SO_REUSEADDR and SO_REUSEPORT are not set, because with them two servers on one
    /// port would each receive a part of the packets.
    ///
    /// `coalesces` requests `UDP_GRO`. If `joins` is true, the address may belong to a socket of this user that was
    /// shared. If `isLocalOnly` is true, only datagrams of this host's programs are received.
    ///
    /// - Throws: ``IOError``.
    init(
        binding wanted: TransportAddress, bufferSize: Int, coalesces: Bool = true, joins: Bool = false,
        isLocalOnly: Bool = false
    ) throws(IOError) {
        let descriptor = try Descriptor.socket(wanted.ip.family, CLINUX_SOCK_DGRAM)
        if joins { descriptor.set(SOL_SOCKET, SO_REUSEPORT, 1) }
        if isLocalOnly { try LocalTrafficFilter.attach(to: descriptor) }
        self.isLocalOnly = isLocalOnly
        bufferSizes = Self.setBuffers(of: descriptor, to: bufferSize)
        Self.setOptions(of: descriptor, for: wanted.ip)
        self.coalesces = coalesces && descriptor.set(Int32(CLINUX_SOL_UDP), Int32(CLINUX_UDP_GRO), 1)
        guard SocketAddress.with(wanted, { bind(descriptor.number, $0, $1) }) == 0 else {
            throw Errno.binding("bind", wanted)
        }
        guard let address = SocketAddress.ask(descriptor.number, getsockname) else {
            throw .system(call: "getsockname", errno: Errno.current)
        }
        self.descriptor = descriptor
        self.address = address
    }

    /// Permits other sockets of this user to bind the same address. The kernel then delivers each sender's datagrams to
    /// one of them. Only a socket that was bound exclusively may be shared, so that no other program has the address.
    func share() { descriptor.set(SOL_SOCKET, SO_REUSEPORT, 1) }

    /// Lets the kernel deliver datagrams with these patterns to every second socket at this address. `loops` is the
    /// number of loops, each with two sockets. Returns false if the kernel does not support it.
    func choose(by patterns: [DatagramPattern], loops: Int) -> Bool {
        ReuseportSteering(patterns: patterns, loops: loops, family: address.ip.family).attach(to: descriptor)
    }

    /// Returns whether a datagram with the source `local` may be sent from this socket. For an unspecified address, the
    /// kernel selects the source.
    func canSend(from local: TransportAddress) -> Bool {
        guard local.ip.family == address.ip.family, local.port == address.port || local.port == 0 else { return false }
        return address.ip.isUnspecified || local.ip.isUnspecified || local.ip == address.ip
    }

    /// A warning about buffers that are smaller than requested, with its remedy; nil if they are not.
    var bufferWarning: String? {
        guard min(bufferSizes.receive, bufferSizes.send) < bufferSizes.asked else { return nil }
        return """
            the socket buffers of \(address) are \(bufferSizes.receive) and \(bufferSizes.send) bytes, not \
            \(bufferSizes.asked): packets get lost in bursts. Raise net.core.rmem_max and net.core.wmem_max.
            """
    }

    /// Waits until the socket is writable. Returns false if the timeout in milliseconds is reached.
    func waitUntilWritable(milliseconds: Int32) -> Bool {
        var wanted = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        return poll(&wanted, 1, milliseconds) == 1
    }

    /// The privileged options exceed `net.core.rmem_max` and `wmem_max`. The kernel doubles the value for its own
    /// overhead.
    private static func setBuffers(of descriptor: Descriptor, to size: Int) -> BufferSizes {
        let value = Int32(clamping: size)
        if !descriptor.set(SOL_SOCKET, Int32(CLINUX_SO_RCVBUFFORCE), value) {
            descriptor.set(SOL_SOCKET, SO_RCVBUF, value)
        }
        if !descriptor.set(SOL_SOCKET, Int32(CLINUX_SO_SNDBUFFORCE), value) {
            descriptor.set(SOL_SOCKET, SO_SNDBUF, value)
        }
        return BufferSizes(
            asked: size, receive: Int(descriptor.get(SOL_SOCKET, SO_RCVBUF) / 2),
            send: Int(descriptor.get(SOL_SOCKET, SO_SNDBUF) / 2))
    }

    /// Runs `body`, which sends a datagram that exceeds the path MTU, while the kernel may fragment it.
    func allowingFragments<R>(_ body: () -> R) -> R {
        guard address.ip.family == .v4 else { return body() }
        descriptor.set(Int32(IPPROTO_IP), IP_MTU_DISCOVER, IP_PMTUDISC_WANT)
        defer { descriptor.set(Int32(IPPROTO_IP), IP_MTU_DISCOVER, IP_PMTUDISC_DO) }
        return body()
    }

    private static func setOptions(of descriptor: Descriptor, for ip: IPAddress) {
        if ip.family == .v4 {
            // A socket that is bound to one address receives datagrams for that one only.
            if ip.isUnspecified { descriptor.set(Int32(IPPROTO_IP), IP_PKTINFO, 1) }
            // Datagrams that cannot be fragmented need no unique identification (RFC 6864, section 4.1), which costs
            // the kernel 5 % of the time of sending. IPv6 has it in fragments only.
            descriptor.set(Int32(IPPROTO_IP), IP_MTU_DISCOVER, IP_PMTUDISC_DO)
        } else {
            descriptor.set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1)
            if ip.isUnspecified { descriptor.set(Int32(IPPROTO_IPV6), Int32(CLINUX_IPV6_RECVPKTINFO), 1) }
        }
        descriptor.set(SOL_SOCKET, Int32(CLINUX_SO_RXQ_OVFL), 1)
        descriptor.set(SOL_SOCKET, Int32(CLINUX_SO_TIMESTAMPNS), 1)
    }
}

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
