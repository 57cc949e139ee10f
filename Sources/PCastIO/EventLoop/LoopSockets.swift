import Glibc
import PCastMedia

/// The sockets of one event loop; their number never changes while it runs (IO7).
struct LoopSockets: Sendable {
    private(set) var udp: [UDPSocket] = []
    /// For what may wait, one beside each of `udp` and at the same address; none where nothing may, or the kernel does not
    /// tell such datagrams from others.
    private(set) var patient: [UDPSocket] = []
    private(set) var tcp: [TCPListener] = []

    /// Where it listens for everybody; the other sockets are for programs of this machine alone.
    private(set) var addresses: [TransportAddress] = []
    /// Addresses that were wanted for programs of this machine, and could not be bound.
    private(set) var unavailable: [(address: TransportAddress, error: IOError)] = []

    /// A free UDP port need not be free for TCP, or on every address: then another one is tried.
    private static let attempts = 16

    /// What thousands of viewers report in a second or two, for which a thread may be away on a full machine; what publishers
    /// send would be lost with it, and every viewer would ask for it.
    private static let bufferSize = 32 * 1024 * 1024

    /// Binds for datagrams what another loop has, which shares it.
    ///
    /// - Parameter localOnly: those of the other loop's addresses that are for programs of this machine alone.
    init(
        beside addresses: [TransportAddress], localOnly: [TransportAddress], hasPatient: Bool
    ) throws(IOError) {
        precondition(!addresses.isEmpty, "an event loop listens somewhere")
        self.addresses = addresses
        for address in addresses + localOnly {
            let isLocalOnly = localOnly.contains(address)
            udp.append(try Self.joining(address, isLocalOnly: isLocalOnly))
            // `SocketChoice` counts them in this order.
            if hasPatient { patient.append(try Self.joining(address, isLocalOnly: isLocalOnly)) }
        }
    }

    /// The addresses at which it listens for programs of this machine alone.
    var localOnlyAddresses: [TransportAddress] { udp.filter(\.isLocalOnly).map(\.address) }

    /// Lets other loops bind beside them, and has what may wait come by sockets of its own where the system does that.
    ///
    /// - Parameter loops: how many will have the addresses, this one included.
    mutating func share(among loops: Int, patient: PatientDatagrams?) {
        guard loops > 1 || patient != nil else { return }
        for socket in udp { socket.share() }
        guard let patient else { return }
        for socket in udp {
            // What it is given before the kernel chooses is read a little later than it could be, and nothing worse.
            guard let sibling = try? Self.joining(socket.address, isLocalOnly: socket.isLocalOnly),
                sibling.choose(by: patient.patterns, loops: loops)
            else { return self.patient = [] }
            self.patient.append(sibling)
        }
    }

    private static func joining(_ address: TransportAddress, isLocalOnly: Bool) throws(IOError) -> UDPSocket {
        try UDPSocket(binding: address, bufferSize: bufferSize, joins: true, isLocalOnly: isLocalOnly)
    }

    /// Binds every address or none.
    ///
    /// - Parameter localOnly: further addresses, for programs of this machine alone, with the same port. One that is in
    ///   use leads to another port where any will do; where not, or where it cannot be bound at all, it is left out.
    init(binding addresses: [TransportAddress], localOnly: [IPAddress] = [], tcpListen: Bool) throws(IOError) {
        precondition(!addresses.isEmpty, "an event loop listens somewhere")
        var attempt = 1
        while true {
            do {
                var sockets = try LoopSockets(oneAttempt: addresses, tcpListen: tcpListen)
                let mayRetry = addresses[0].port == 0 && attempt < Self.attempts
                try sockets.open(localOnly, tcpListen: tcpListen, mayLeaveOutUsed: !mayRetry)
                self = sockets
                return
            } catch {
                guard addresses[0].port == 0, case .addressInUse = error, attempt < Self.attempts else { throw error }
                attempt += 1
            }
        }
    }

    private init(oneAttempt addresses: [TransportAddress], tcpListen: Bool) throws(IOError) {
        for var address in addresses {
            if address.port == 0, let first = udp.first { address.port = first.address.port }
            let socket = try UDPSocket(binding: address, bufferSize: Self.bufferSize)
            udp.append(socket)
            if tcpListen { tcp.append(try TCPListener(binding: socket.address)) }
        }
        self.addresses = udp.map(\.address)
    }

    /// Binds the addresses for programs of this machine beside the others, which were bound alone: so nobody else has them.
    private mutating func open(_ ips: [IPAddress], tcpListen: Bool, mayLeaveOutUsed: Bool) throws(IOError) {
        guard let port = udp.first?.address.port, !ips.isEmpty else { return }
        for socket in udp { socket.share() }
        for listener in tcp { listener.share() }
        for ip in ips {
            let address = TransportAddress(ip: ip, port: port)
            do throws(IOError) {
                let socket = try Self.joining(address, isLocalOnly: true)
                if tcpListen { tcp.append(try TCPListener(binding: address, joins: true, isLocalOnly: true)) }
                udp.append(socket)
            } catch {
                if case .addressInUse = error, !mayLeaveOutUsed { throw error }
                // Without IPv6 in the kernel there is nobody to be heard by it.
                if case .system(_, EAFNOSUPPORT) = error { continue }
                unavailable.append((address, error))
            }
        }
    }
}
