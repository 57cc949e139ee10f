import CLinux
import Glibc
package import PCastCore

/// Checks of this host's ports and paths, for a diagnosis before a server starts.
package enum PortProbe {
    /// A transport protocol.
    package enum Transport: String, Sendable {
        case udp = "UDP"
        case tcp = "TCP"
    }

    /// Binds an address and releases it.
    ///
    /// - Throws: ``IOError``, whose text says what to do, if a server could not listen there.
    package static func bind(_ address: TransportAddress, _ transport: Transport) throws(IOError) {
        switch transport {
        case .udp: _ = try UDPSocket(binding: address, bufferSize: 1 << 16)
        case .tcp: _ = try TCPListener(binding: address)
        }
    }

    /// The warning about buffers of sockets that are smaller than `size` bytes, with its remedy; nil if they are large
    /// enough, or if no socket can be opened.
    package static func bufferWarning(size: Int) -> String? {
        let address = TransportAddress(ip: .loopbackV4, port: 0)
        return (try? UDPSocket(binding: address, bufferSize: size))?.bufferWarning
    }

    /// Sends a datagram from one address of this host to another one, and waits for it. A firewall of this host may drop
    /// it.
    ///
    /// - Parameters:
    ///   - source: The address of the sender. Its port is selected by the kernel.
    ///   - destination: The address of the receiver. Port 0 selects a free port.
    ///   - milliseconds: The time for which the datagram is awaited.
    /// - Returns: Whether the datagram arrived.
    /// - Throws: ``IOError`` if a socket cannot be opened.
    package static func passes(
        from source: IPAddress, to destination: TransportAddress, within milliseconds: Int32 = 500
    ) throws(IOError) -> Bool {
        let receiver = try UDPSocket(binding: destination, bufferSize: 1 << 16, coalesces: false)
        let sender = try UDPSocket(
            binding: TransportAddress(ip: source, port: 0), bufferSize: 1 << 16, coalesces: false)
        let sent = UInt64.random(in: 0...UInt64.max)
        let size = MemoryLayout<UInt64>.size
        let length = SocketAddress.with(receiver.address) { name, nameSize in
            withUnsafeBytes(of: sent) { sendto(sender.number, $0.baseAddress, size, 0, name, nameSize) }
        }
        guard length == size else { return false }
        var wanted = pollfd(fd: receiver.number, events: Int16(POLLIN), revents: 0)
        guard poll(&wanted, 1, milliseconds) == 1 else { return false }
        var received: UInt64 = 0
        return withUnsafeMutableBytes(of: &received) { recv(receiver.number, $0.baseAddress, size, 0) } == size
            && received == sent
    }
}

/// The state of this host's clock.
package enum SystemClockState: Sendable {
    case synchronized
    /// No program keeps the clock at the correct time.
    case unsynchronized
    /// The kernel does not say.
    case unknown

    /// Reads whether a program such as chrony or systemd-timesyncd keeps the clock at the correct time (adjtimex(2)).
    package static func read() -> SystemClockState {
        switch clinux_clock_is_synchronized() {
        case 1: .synchronized
        case 0: .unsynchronized
        default: .unknown
        }
    }
}
