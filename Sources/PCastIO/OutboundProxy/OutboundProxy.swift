import CLinux
import Glibc
package import PCastCore
import Synchronization

/// A proxy on loopback for a library that would connect to any address. Each connection is forwarded to a checked
/// address only.
///
/// It uses one thread per connection, because there are few connections.
package final class OutboundProxy: Sendable {
    /// The kind of proxy.
    package enum Purpose: Sendable {
        /// An HTTP proxy (RFC 9110, section 9.3.6). The host of each request is checked, which includes those of
        /// redirections and playlists.
        case proxy(AddressPolicy)
        /// A proxy for RTSP to one address. A response that refers to another address ends the connection.
        case rtsp(TransportAddress)
        /// A TCP proxy to one address.
        case tunnel(TransportAddress)
    }

    /// The listening socket, on loopback in the network namespace of the thread that creates it.
    package struct ListeningSocket: Sendable {
        let listener: TCPListener

        /// The address of the socket.
        package var address: TransportAddress { listener.address }

        /// Listens on a loopback port; 0 selects a free one.
        ///
        /// - Throws: ``IOError``.
        package init(port: UInt16 = 0) throws(IOError) {
            listener = try TCPListener(binding: TransportAddress(ip: .loopbackV4, port: port))
        }
    }

    /// The address to connect to.
    package let address: TransportAddress

    private let listener: TCPListener
    private let purpose: Purpose
    private let refused: @Sendable (String) -> Void
    private let isStopped = Atomic(false)
    private let open = Atomic(0)

    /// The maximum number of simultaneous connections. A playlist needs only a few.
    private static let limit = 32

    /// Starts a proxy. If `listeningSocket` is nil, it listens in the network namespace of this thread. `refused`
    /// receives the reason why a connection was rejected, in English and without secrets.
    ///
    /// - Throws: ``IOError``.
    package init(
        _ purpose: Purpose, at listeningSocket: ListeningSocket? = nil, refused: @escaping @Sendable (String) -> Void
    ) throws(IOError) {
        self.purpose = purpose
        self.refused = refused
        let listeningSocket = if let listeningSocket { listeningSocket } else { try ListeningSocket() }
        listener = listeningSocket.listener
        address = listener.address
        _ = try WorkerThread(name: "outbound-proxy") { [weak self, listener] in
            while let self, !self.isStopped.load(ordering: .relaxed) {
                guard RelayPipe.wait(reading: listener.number, milliseconds: 1_000) else { continue }
                while case .connection(let client) = listener.accept() { self.take(client) }
            }
        }
    }

    deinit { isStopped.store(true, ordering: .relaxed) }

    private func take(_ client: Descriptor) {
        guard open.load(ordering: .relaxed) < Self.limit else { return }
        open.add(1, ordering: .relaxed)
        let thread = try? WorkerThread(name: "relay") { [self] in
            defer { open.subtract(1, ordering: .relaxed) }
            switch purpose {
            case .proxy(let addresses): serve(client, addresses)
            case .tunnel(let address):
                guard let server = RelayPipe.connect(to: address) else { return }
                _ = RelayPipe.run(client, server, silence: nil) { $0 }
            case .rtsp(let address):
                guard let server = RelayPipe.connect(to: address) else { return }
                var replies = RTSPReplies()
                let isWhole = RelayPipe.run(client, server) { replies.pass($0) ? replies.passed : nil }
                if !isWhole {
                    refused(
                        replies.fault == .redirect
                            ? "the server redirects to another address, which is not supported"
                            : "the server's response is not RTSP")
                }
            }
        }
        if thread == nil { open.subtract(1, ordering: .relaxed) }
    }

    private func serve(_ client: Descriptor, _ addresses: AddressPolicy) {
        guard let (head, rest) = RelayPipe.readHead(client), let request = ProxyRequest(head) else {
            _ = RelayPipe.write(Self.answer("400 Bad Request"), to: client)
            return
        }
        let address: TransportAddress
        do throws(AddressRejection) {
            address = try addresses.evaluate(host: request.host, port: request.port)
        } catch {
            refused("\(error)")
            _ = RelayPipe.write(Self.answer("403 Forbidden"), to: client)
            return
        }
        guard let server = RelayPipe.connect(to: address) else {
            _ = RelayPipe.write(Self.answer("502 Bad Gateway"), to: client)
            return
        }
        let isBegun =
            if let head = request.head { RelayPipe.write(head + rest, to: server) } else {
                RelayPipe.write(Self.answer("200 Connection established"), to: client)
                    && RelayPipe.write(rest, to: server)
            }
        if isBegun { _ = RelayPipe.run(client, server) { $0 } }
    }

    private static func answer(_ status: String) -> [UInt8] {
        Array(
            "HTTP/1.1 \(status)\r\n\(status.hasPrefix("200") ? "" : "Content-Length: 0\r\nConnection: close\r\n")\r\n"
                .utf8)
    }
}

/// A request of a program to an HTTP proxy (RFC 9112, section 3.2): a tunnel to a host, or a resource of a host.
struct ProxyRequest: Equatable {
    let host: String
    let port: UInt16
    /// The head to send to the host in place of the head that was received; nil for a tunnel.
    let head: [UInt8]?

    /// Parses the head of a request up to its empty line; nil if it is not a valid request to a proxy.
    init?(_ text: String) {
        var lines = text.split(separator: "\r\n", omittingEmptySubsequences: true)
        guard !lines.isEmpty else { return nil }
        let words = lines.removeFirst().split(separator: " ")
        guard words.count == 3 else { return nil }
        if words[0] == "CONNECT" {
            guard let target = MediaURI("https://\(words[1])") else { return nil }
            (host, port, head) = (target.host, target.port, nil)
            return
        }
        guard let target = MediaURI(String(words[1])), target.scheme == .http else { return nil }
        (host, port) = (target.host, target.port)
        // Each connection carries one request, because the next one may be for another host, which would not be
        // checked.
        let kept = lines.filter { line in
            let name = line.prefix { $0 != ":" }.lowercased()
            return name != "connection" && name != "proxy-connection" && name != "proxy-authorization"
        }
        let path = target.path.hasPrefix("/") ? target.path : "/" + target.path
        let first = "\(words[0]) \(path) \(words[2])"
        head =
            Array(([Substring(first)] + kept + ["Connection: close"]).joined(separator: "\r\n").utf8)
            + Array("\r\n\r\n".utf8)
    }
}

/// Functions that forward bytes between two connections. They block the calling thread.
enum RelayPipe {
    private static let connectTimeout: Int32 = 8_000
    /// The maximum time without data in either direction in milliseconds, which exceeds the timeouts of the library.
    private static let silence: Int32 = 60_000
    private static let longestHead = 16_384

    /// Connects to an address; nil if the connection fails or takes more than 8 s.
    static func connect(to address: TransportAddress) -> Descriptor? {
        guard let socket = try? Descriptor.socket(address.ip.family, CLINUX_SOCK_STREAM) else { return nil }
        let answer = SocketAddress.with(address) { Glibc.connect(socket.number, $0, $1) }
        if answer != 0 {
            guard Errno.current == EINPROGRESS, wait(for: [(socket.number, POLLOUT)], connectTimeout) != nil,
                socket.get(SOL_SOCKET, SO_ERROR) == 0
            else { return nil }
        }
        socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        return socket
    }

    /// Reads the head of a request and the bytes after it; nil if the connection ends before, or the head is too long.
    static func readHead(_ client: Descriptor) -> (head: String, rest: [UInt8])? {
        var bytes: [UInt8] = []
        let end = Array("\r\n\r\n".utf8)
        while bytes.count < longestHead {
            guard let more = read(client), !more.isEmpty else { return nil }
            bytes += more
            if let range = bytes.firstRange(of: end) {
                return (String(decoding: bytes[..<range.lowerBound], as: UTF8.self), Array(bytes[range.upperBound...]))
            }
        }
        return nil
    }

    /// Forwards bytes in both directions until a peer closes its connection. `silence` is the timeout in milliseconds;
    /// nil for none. `passes` returns whether bytes of the server may be forwarded. Returns false if it did not permit
    /// them.
    static func run(
        _ client: Descriptor, _ server: Descriptor, silence: Int32? = RelayPipe.silence, passes: ([UInt8]) -> [UInt8]?
    ) -> Bool {
        while let ready = wait(for: [(client.number, POLLIN), (server.number, POLLIN)], silence ?? -1) {
            if ready[0] {
                guard let bytes = read(client), !bytes.isEmpty, write(bytes, to: server) else { return true }
            }
            if ready[1] {
                guard let bytes = read(server), !bytes.isEmpty else { return true }
                guard let passed = passes(bytes) else { return false }
                guard write(passed, to: client) else { return true }
            }
        }
        return true
    }

    static func write(_ bytes: [UInt8], to descriptor: Descriptor) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(descriptor.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if Errno.current == EAGAIN {
                guard wait(for: [(descriptor.number, POLLOUT)], silence) != nil else { return false }
            } else if Errno.current != EINTR {
                return false
            }
        }
        return true
    }

    /// Returns received bytes; empty at the end of the stream, nil if the connection broke or the timeout was reached.
    static func read(_ descriptor: Descriptor) -> [UInt8]? {
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, initialized in
            while true {
                count = recv(descriptor.number, buffer.baseAddress, buffer.count, 0)
                if count >= 0 { break }
                if Errno.current == EINTR { continue }
                guard Errno.current == EAGAIN, wait(for: [(descriptor.number, POLLIN)], silence) != nil else { break }
            }
            initialized = max(0, count)
        }
        return count < 0 ? nil : bytes
    }

    /// Waits until a descriptor is readable. Returns false after the timeout.
    static func wait(reading descriptor: Int32, milliseconds: Int32) -> Bool {
        wait(for: [(descriptor, POLLIN)], milliseconds) != nil
    }

    /// Returns which of the descriptors are ready or broken; nil after the timeout.
    private static func wait(for wanted: [(Int32, Int32)], _ milliseconds: Int32) -> [Bool]? {
        var polled = wanted.map { pollfd(fd: $0.0, events: Int16($0.1), revents: 0) }
        let count = poll(&polled, nfds_t(polled.count), milliseconds)
        if count < 0, Errno.current == EINTR { return wait(for: wanted, milliseconds) }
        return count > 0 ? polled.map { $0.revents != 0 } : nil
    }
}
