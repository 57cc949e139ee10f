import CLinux
import Glibc
import PCastMedia

/// A listening TCP socket for ICE (RFC 6544): passive candidates.
final class TCPListener: Sendable {
    private let descriptor: Descriptor
    let address: TransportAddress

    var number: Int32 { descriptor.number }

    private static let backlog: Int32 = 512

    /// - Parameters:
    ///   - joins: binds beside one of ours that has the port already and `share`s it.
    ///   - isLocalOnly: accepts connections of programs of this machine alone; others are not answered.
    init(binding wanted: TransportAddress, joins: Bool = false, isLocalOnly: Bool = false) throws(IOError) {
        let descriptor = try Descriptor.socket(wanted.ip.family, CLINUX_SOCK_STREAM)
        // For TCP this lets a restarted server pass by connections that linger; two listeners are refused all the same.
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

    /// Lets further sockets of this user's bind the same port.
    func share() { descriptor.set(SOL_SOCKET, SO_REUSEPORT, 1) }

    /// What `accept` came to.
    enum Arrival {
        case connection(Descriptor)
        case none

        /// The process, or the machine, has no descriptor left: the connection stays, and would wake the loop for ever.
        case outOfDescriptors
    }

    /// The next connection that waits.
    func accept() -> Arrival {
        while true {
            let number = clinux_accept4(
                self.number, nil, nil, Int32(CLINUX_SOCK_NONBLOCK | CLINUX_SOCK_CLOEXEC))
            if let descriptor = try? Descriptor(number, from: "accept4") { return .connection(descriptor) }
            switch Errno.current {
            // A connection that broke while it waited is skipped.
            case EINTR, ECONNABORTED: continue
            case EMFILE, ENFILE: return .outOfDescriptors
            default: return .none
            }
        }
    }
}
