import CLinux
import Glibc
import PCastMedia

/// A bound UDP socket that never blocks. Immutable, so the thread that binds it can hand it to the one that uses it.
final class UDPSocket: Sendable {
    /// What the kernel was asked for and what it gave, in bytes of payload (IO9).
    struct BufferSizes: Hashable, Sendable {
        let asked: Int
        let receive: Int
        let send: Int
    }

    private let descriptor: Descriptor

    /// The bound address, with the port that the kernel chose where it was asked to.
    let address: TransportAddress

    let bufferSizes: BufferSizes

    /// Whether it receives only what programs of this machine send.
    let isLocalOnly: Bool

    /// Whether the kernel hands on what came in a row as one message (UDP_GRO). It refuses before Linux 5.0, and in some
    /// sandboxes; then each datagram is a message.
    let coalesces: Bool

    var number: Int32 { descriptor.number }

    /// Binds alone: without SO_REUSEADDR and SO_REUSEPORT the kernel refuses a port that anyone else has, where with
    /// them two servers would each get a part of the packets.
    ///
    /// - Parameters:
    ///   - coalesces: asks the kernel to hand on what came in a row as one message.
    ///   - joins: binds beside one of ours that has the address already and `share`s it.
    ///   - isLocalOnly: receives only what programs of this machine send.
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

    /// Lets further sockets of this user's bind the same address: the kernel then gives each sender's datagrams to one of
    /// them. Only what was bound alone shares, so that nobody else had the address before.
    func share() { descriptor.set(SOL_SOCKET, SO_REUSEPORT, 1) }

    /// Has the kernel give datagrams of some kinds to every second socket at this address; answers false where it does not.
    ///
    /// - Parameter loops: how many have two sockets each there.
    func choose(by patterns: [DatagramPattern], loops: Int) -> Bool {
        SocketChoice(patterns: patterns, loops: loops, family: address.ip.family).attach(to: descriptor)
    }

    /// Whether a datagram from `local` may leave by this socket. An unspecified address leaves the choice of the
    /// source to the kernel.
    func canSend(from local: TransportAddress) -> Bool {
        guard local.ip.family == address.ip.family, local.port == address.port || local.port == 0 else { return false }
        return address.ip.isUnspecified || local.ip.isUnspecified || local.ip == address.ip
    }

    /// What to do about buffers that are smaller than asked for; nil when they are not (IO9).
    var bufferWarning: String? {
        guard min(bufferSizes.receive, bufferSizes.send) < bufferSizes.asked else { return nil }
        return """
            the socket buffers of \(address) are \(bufferSizes.receive) and \(bufferSizes.send) bytes, not \
            \(bufferSizes.asked): packets get lost in bursts. Raise net.core.rmem_max and net.core.wmem_max.
            """
    }

    /// Waits until the socket takes more; answers false when `milliseconds` passed first.
    func waitUntilWritable(milliseconds: Int32) -> Bool {
        var wanted = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        return poll(&wanted, 1, milliseconds) == 1
    }

    /// The privileged option goes beyond net.core.rmem_max. The kernel doubles what it is told, for its own needs.
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

    /// Does something, such as sending a datagram that is larger than the path carries, while the kernel may cut it into
    /// fragments.
    func allowingFragments<R>(_ body: () -> R) -> R {
        guard address.ip.family == .v4 else { return body() }
        descriptor.set(Int32(IPPROTO_IP), IP_MTU_DISCOVER, IP_PMTUDISC_WANT)
        defer { descriptor.set(Int32(IPPROTO_IP), IP_MTU_DISCOVER, IP_PMTUDISC_DO) }
        return body()
    }

    private static func setOptions(of descriptor: Descriptor, for ip: IPAddress) {
        if ip.family == .v4 {
            // Who has one address is sent to at no other.
            if ip.isUnspecified { descriptor.set(Int32(IPPROTO_IP), IP_PKTINFO, 1) }
            // What cannot become fragments needs no number that tells them apart, which costs the kernel a twentieth of
            // what it takes to send a message (RFC 6864, section 4.1). IPv6 numbers fragments alone.
            descriptor.set(Int32(IPPROTO_IP), IP_MTU_DISCOVER, IP_PMTUDISC_DO)
        } else {
            descriptor.set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1)
            if ip.isUnspecified { descriptor.set(Int32(IPPROTO_IPV6), Int32(CLINUX_IPV6_RECVPKTINFO), 1) }
        }
        descriptor.set(SOL_SOCKET, Int32(CLINUX_SO_RXQ_OVFL), 1)
        descriptor.set(SOL_SOCKET, Int32(CLINUX_SO_TIMESTAMPNS), 1)
    }
}
