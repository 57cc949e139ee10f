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

    /// Starts a proxy. If `entrance` is nil, it listens in the network namespace of this thread. `refused` receives the
    /// reason why a connection was rejected, in English and without secrets.
    ///
    /// - Throws: ``IOError``.
    package init(
        _ purpose: Purpose, at entrance: ListeningSocket? = nil, refused: @escaping @Sendable (String) -> Void
    ) throws(IOError) {
        self.purpose = purpose
        self.refused = refused
        let entrance = if let entrance { entrance } else { try ListeningSocket() }
        listener = entrance.listener
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
    /// The head to send to the host instead of the request's own; nil for a tunnel.
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
