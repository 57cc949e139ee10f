import Glibc
import PCastCore

/// The sockets of an event loop. Their number is constant while the loop runs.
struct LoopSockets: Sendable {
    private(set) var udp: [UDPSocket] = []
    /// The sockets for deferrable datagrams, one for each of `udp` with the same address; empty if there are none, or
    /// if the kernel cannot select such datagrams.
    private(set) var deferred: [UDPSocket] = []
    private(set) var tcp: [TCPListener] = []

    /// The addresses for all peers. The other sockets are for programs of this host only.
    private(set) var addresses: [TransportAddress] = []
    /// The addresses for programs of this host that could not be bound.
    private(set) var unavailable: [(address: TransportAddress, error: IOError)] = []

    /// The maximum number of attempts to find a port. A free UDP port may be in use for TCP or at another address.
    private static let attempts = 16

    /// The receive buffer in bytes. It must hold the reports of thousands of subscribers for a second or two, for which
    /// a thread may be suspended on a busy host. Otherwise the publishers' packets would be lost too, and each
    /// subscriber would request them again.
    private static let bufferSize = 32 * 1024 * 1024

    /// Binds UDP sockets to the addresses of another loop. `localOnly` are those of its addresses that are for programs
    /// of this host.
    ///
    /// - Throws: ``IOError``.
    init(
        beside addresses: [TransportAddress], localOnly: [TransportAddress], hasDeferred: Bool
    ) throws(IOError) {
        precondition(!addresses.isEmpty, "an event loop must have a listening address")
        self.addresses = addresses
        for address in addresses + localOnly {
            let isLocalOnly = localOnly.contains(address)
            udp.append(try Self.joining(address, isLocalOnly: isLocalOnly))
            // `ReuseportSteering` relies on this order.
            if hasDeferred { deferred.append(try Self.joining(address, isLocalOnly: isLocalOnly)) }
        }
    }

    /// The addresses for programs of this host.
    var localOnlyAddresses: [TransportAddress] { udp.filter(\.isLocalOnly).map(\.address) }

    /// Permits other loops to bind the same addresses, and creates the sockets for deferrable datagrams if the kernel
    /// supports the selection. `loops` is the number of loops, including this one.
    mutating func share(among loops: Int, deferred: DeferredReceive?) {
        guard loops > 1 || deferred != nil else { return }
        for socket in udp { socket.share() }
        guard let deferred else { return }
        for socket in udp {
            // Datagrams that arrive before the kernel selects are only read a little later.
            guard let sibling = try? Self.joining(socket.address, isLocalOnly: socket.isLocalOnly),
                sibling.choose(by: deferred.patterns, loops: loops)
            else { return self.deferred = [] }
            self.deferred.append(sibling)
        }
    }

    private static func joining(_ address: TransportAddress, isLocalOnly: Bool) throws(IOError) -> UDPSocket {
        try UDPSocket(binding: address, bufferSize: bufferSize, joins: true, isLocalOnly: isLocalOnly)
    }

    /// Binds all addresses or none. `localOnly` are additional addresses with the same port for programs of this host.
    ///
    /// If one of those is in use, another port is tried if any port is permitted. Otherwise, and if it cannot be bound
    /// at all, it is left out.
    ///
    /// - Throws: ``IOError``.
    init(binding addresses: [TransportAddress], localOnly: [IPAddress] = [], tcpListen: Bool) throws(IOError) {
        precondition(!addresses.isEmpty, "an event loop must have a listening address")
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

    /// Returns a listener for programs of this host; nil if this process may filter datagrams but not connections.
    /// Newer kernels, such as Linux 6.18, permit filters of TCP sockets to privileged processes only.
    ///
    /// - Throws: ``IOError``.
    private static func localOnlyListener(_ address: TransportAddress) throws(IOError) -> TCPListener? {
        do throws(IOError) {
            return try TCPListener(binding: address, joins: true, isLocalOnly: true)
        } catch {
            if case .system(_, EPERM) = error { return nil }
            throw error
        }
    }

    /// Binds the addresses for programs of this host. The other addresses were bound exclusively before, so no other
    /// program uses the port.
    private mutating func open(_ ips: [IPAddress], tcpListen: Bool, mayLeaveOutUsed: Bool) throws(IOError) {
        guard let port = udp.first?.address.port, !ips.isEmpty else { return }
        for socket in udp { socket.share() }
        for listener in tcp { listener.share() }
        for ip in ips {
            let address = TransportAddress(ip: ip, port: port)
            do throws(IOError) {
                let socket = try Self.joining(address, isLocalOnly: true)
                if tcpListen, let listener = try Self.localOnlyListener(address) { tcp.append(listener) }
                udp.append(socket)
            } catch {
                if case .addressInUse = error, !mayLeaveOutUsed { throw error }
                // If the kernel does not support IPv6, no program can send to this address.
                if case .system(_, EAFNOSUPPORT) = error { continue }
                unavailable.append((address, error))
            }
        }
    }
}
