import CLinux
import Glibc
package import PCastCore
import Synchronization

/// Forwards datagrams between programs in an isolated network namespace and one address outside. Each inside socket has
/// its own socket outside; an ingest or egress job has one or two.
package final class ProxiedDatagrams: Sendable {
    /// The socket to which the programs send, on loopback in the network namespace of the thread that creates it.
    package struct ListeningSocket: Sendable {
        let socket: Descriptor

        /// Binds a loopback port.
        ///
        /// - Throws: ``IOError``.
        package init(port: UInt16) throws(IOError) {
            let socket = try Descriptor.socket(.v4, CLINUX_SOCK_DGRAM)
            let address = TransportAddress(ip: .loopbackV4, port: port)
            guard SocketAddress.with(address, { bind(socket.number, $0, $1) }) == 0 else {
                throw Errno.binding("bind", address)
            }
            self.socket = socket
        }
    }

    private static let maximumSockets = 16
    private static let largest = 65_536

    private let isStopped = Atomic(false)

    /// Starts a thread that relays to and from the address `outside`.
    ///
    /// - Throws: ``IOError`` if the thread cannot be started.
    package init(at listeningSocket: ListeningSocket, to outside: TransportAddress) throws(IOError) {
        _ = try WorkerThread(name: "datagrams") { [weak self] in
            var sockets: [(inside: TransportAddress, socket: Descriptor)] = []
            var buffer = [UInt8](repeating: 0, count: Self.largest)
            while let self, !self.isStopped.load(ordering: .relaxed) {
                Self.move(listeningSocket.socket, outside, &sockets, &buffer)
            }
        }
    }

    deinit { isStopped.store(true, ordering: .relaxed) }

    /// Waits for a second at most, and forwards all pending datagrams.
    private static func move(
        _ listeningSocket: Descriptor, _ outside: TransportAddress,
        _ sockets: inout [(inside: TransportAddress, socket: Descriptor)], _ buffer: inout [UInt8]
    ) {
        var polled = ([listeningSocket] + sockets.map(\.socket)).map {
            pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0)
        }
        guard poll(&polled, nfds_t(polled.count), 1_000) > 0 else { return }
        for (index, entry) in polled.enumerated() where entry.revents != 0 {
            while let (count, from) = receive(entry.fd, &buffer) {
                if index == 0 {
                    if let own = outsideSocket(of: from, to: outside, &sockets) {
                        send(buffer, count, by: own, to: nil)
                    }
                } else {
                    send(buffer, count, by: listeningSocket, to: sockets[index - 1].inside)
                }
            }
        }
    }

    private static func outsideSocket(
        of inside: TransportAddress, to outside: TransportAddress,
        _ sockets: inout [(inside: TransportAddress, socket: Descriptor)]
    ) -> Descriptor? {
        if let known = sockets.first(where: { $0.inside == inside }) { return known.socket }
        guard sockets.count < maximumSockets, let socket = try? Descriptor.socket(outside.ip.family, CLINUX_SOCK_DGRAM),
            SocketAddress.with(outside, { connect(socket.number, $0, $1) }) == 0
        else { return nil }
        sockets.append((inside, socket))
        return socket
    }

    private static func receive(_ number: Int32, _ buffer: inout [UInt8]) -> (Int, TransportAddress)? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let count = buffer.withUnsafeMutableBytes { bytes in
            withUnsafeMutableBytes(of: &storage) { storage in
                recvfrom(
                    number, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT),
                    storage.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size)
            }
        }
        guard count >= 0, let from = withUnsafeBytes(of: &storage, { SocketAddress.read(from: $0.baseAddress!) }) else {
            return nil
        }
        return (count, from)
    }

    /// Sends a datagram. One that the kernel does not accept is lost, as any datagram may be.
    private static func send(_ bytes: [UInt8], _ count: Int, by socket: Descriptor, to address: TransportAddress?) {
        bytes.withUnsafeBytes { bytes in
            if let address {
                _ = SocketAddress.with(address) { sendto(socket.number, bytes.baseAddress, count, 0, $0, $1) }
            } else {
                _ = Glibc.send(socket.number, bytes.baseAddress, count, 0)
            }
        }
    }
}
