import CLinux
import Glibc
import PCastCore

/// A listening TCP socket for passive ICE candidates (RFC 6544).
final class TCPListener: Sendable {
    private let descriptor: Descriptor
    let address: TransportAddress

    var number: Int32 { descriptor.number }

    private static let backlog: Int32 = 512

    /// Binds an address. If `joins` is true, the port may belong to a socket of this user that was shared. If
    /// `isLocalOnly` is true, only connections of this host's programs are accepted, and others receive no response.
    ///
    /// - Throws: ``IOError``.
    init(binding wanted: TransportAddress, joins: Bool = false, isLocalOnly: Bool = false) throws(IOError) {
        let descriptor = try Descriptor.socket(wanted.ip.family, CLINUX_SOCK_STREAM)
        // For TCP, this option permits a restarted server to bind despite lingering connections. Two listeners on one
        // port are still refused.
        descriptor.set(SOL_SOCKET, SO_REUSEADDR, 1)
        if wanted.ip.family == .v6 { descriptor.set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
        if joins { descriptor.set(SOL_SOCKET, SO_REUSEPORT, 1) }
        if isLocalOnly { try LocalTrafficFilter.attach(to: descriptor) }
        guard SocketAddress.with(wanted, { bind(descriptor.number, $0, $1) }) == 0,
            listen(descriptor.number, Self.backlog) == 0
        else { throw Errno.binding("bind", wanted) }
        guard let address = SocketAddress.ask(descriptor.number, getsockname) else {
            throw .system(call: "getsockname", errno: Errno.current)
        }
        self.descriptor = descriptor
        self.address = address
    }

    /// Permits other sockets of this user to bind the same port.
    func share() { descriptor.set(SOL_SOCKET, SO_REUSEPORT, 1) }

    /// The result of `accept`.
    enum Arrival {
        case connection(Descriptor)

        /// A connection that uses a descriptor of the reserve. Further ones have to wait.
        case lastConnection(Descriptor)

        case none

        /// The process or system has no free descriptor. The connection stays pending and would wake the loop
        /// continuously.
        case outOfDescriptors
    }

    /// Accepts the next pending connection.
    func accept() -> Arrival {
        while true {
            let number = clinux_accept4(
                self.number, nil, nil, Int32(CLINUX_SOCK_NONBLOCK | CLINUX_SOCK_CLOEXEC))
            if let descriptor = try? Descriptor(number, from: "accept4") {
                return DescriptorReserve.contains(number) ? .lastConnection(descriptor) : .connection(descriptor)
            }
            switch Errno.current {
            // Connections that broke while they were pending are skipped.
            case EINTR, ECONNABORTED: continue
            case EMFILE, ENFILE: return .outOfDescriptors
            default: return .none
            }
        }
    }
}

/// A TCP connection that one loop accepted and that belongs to another one, according to its first frame.
public struct AcceptedConnection: Sendable {
    let descriptor: Descriptor
    let local: TransportAddress
    let remote: TransportAddress
    /// When it is closed where no peer has authenticated itself on it.
    let deadline: Instant
    /// The bytes that were read, beginning with the first frame.
    let bytes: [UInt8]
}
