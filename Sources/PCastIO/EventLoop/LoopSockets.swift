import PCastMedia

/// The sockets of one event loop; their number never changes while it runs (IO7).
struct LoopSockets: Sendable {
    private(set) var udp: [UDPSocket] = []
    /// For what may wait, one beside each of `udp` and at the same address; none where nothing may, or the kernel does not
    /// tell such datagrams from others.
    private(set) var patient: [UDPSocket] = []
    private(set) var tcp: [TCPListener] = []

    /// A free UDP port need not be free for TCP, or on every address: then another one is tried.
    private static let attempts = 16

    /// What thousands of viewers report in a second or two, for which a thread may be away on a full machine; what publishers
    /// send would be lost with it, and every viewer would ask for it.
    private static let bufferSize = 32 * 1024 * 1024

    /// Binds for datagrams what another loop has, which shares it.
    init(beside addresses: [TransportAddress], hasPatient: Bool) throws(IOError) {
        precondition(!addresses.isEmpty, "an event loop listens somewhere")
        for address in addresses {
            udp.append(try Self.joining(address))
            // `SocketChoice` counts them in this order.
            if hasPatient { patient.append(try Self.joining(address)) }
        }
    }

    /// Lets other loops bind beside them, and has what may wait come by sockets of its own where the system does that.
    ///
    /// - Parameter loops: how many will have the addresses, this one included.
    mutating func share(among loops: Int, patient: PatientDatagrams?) {
        guard loops > 1 || patient != nil else { return }
        for socket in udp { socket.share() }
        guard let patient else { return }
        for socket in udp {
            // What it is given before the kernel chooses is read a little later than it could be, and nothing worse.
            guard let sibling = try? Self.joining(socket.address),
                sibling.choose(by: patient.patterns, loops: loops)
            else { return self.patient = [] }
            self.patient.append(sibling)
        }
    }

    private static func joining(_ address: TransportAddress) throws(IOError) -> UDPSocket {
        try UDPSocket(binding: address, bufferSize: bufferSize, joins: true)
    }

    /// Binds every address or none.
    init(binding addresses: [TransportAddress], tcpListen: Bool) throws(IOError) {
        precondition(!addresses.isEmpty, "an event loop listens somewhere")
        var attempt = 1
        while true {
            do {
                self = try LoopSockets(oneAttempt: addresses, tcpListen: tcpListen)
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
    }
}
