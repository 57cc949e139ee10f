import Foundation
import PCastCore
import Synchronization
import Testing

@testable import PCastIO

@Suite("Untrusted addresses are checked at each connection")
struct OutboundProxyTests {
    @Test("this machine and private networks are unreachable by any name and notation")
    func judging() throws {
        let addresses = AddressPolicy(listed: [])
        for host in [
            "127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0.0.0.0", "::1", "::ffff:127.0.0.1",
            "169.254.169.254", "10.0.0.1", "192.168.1.1", "172.16.0.1", "fe80::1", "fd00::1", "::",
        ] {
            #expect(throws: AddressRejection.self, "\(host)") { try addresses.evaluate(host: host, port: 80) }
        }
        #expect(throws: Never.self) { try addresses.evaluate(host: "9.9.9.9", port: 80) }
    }

    @Test("listed addresses are reachable, and no others")
    func listing() throws {
        let addresses = AddressPolicy(listed: [try #require(IPNetwork("127.0.0.1"))])
        #expect(try addresses.evaluate(host: "127.0.0.1", port: 80).description == "127.0.0.1:80")
        #expect(throws: AddressRejection.forbidden(try #require(IPAddress("127.0.0.2")))) {
            try addresses.evaluate(host: "127.0.0.2", port: 80)
        }
    }

    @Test("a public address of this host is unreachable unless it is listed")
    func ownAddresses() throws {
        let own = [try #require(IPAddress("9.9.9.9")), try #require(IPAddress("2620:fe::fe"))]
        let addresses = AddressPolicy(listed: []) { own }
        for host in ["9.9.9.9", "2620:fe::fe", "64:ff9b::909:909", "2002:909:909::1", "::ffff:9.9.9.9"] {
            #expect(throws: AddressRejection.self, "\(host)") { try addresses.evaluate(host: host, port: 80) }
        }
        #expect(throws: Never.self) { try addresses.evaluate(host: "9.9.9.10", port: 80) }
        let listed = AddressPolicy(listed: [try #require(IPNetwork("9.9.9.9"))]) { own }
        #expect(throws: Never.self) { try listed.evaluate(host: "9.9.9.9", port: 80) }
        #expect(AddressPolicy.interfaceAddresses().contains(.loopbackV4))
    }

    @Test("a proxy request is parsed and sent as the host expects it, for one response")
    func requests() throws {
        let get = try #require(
            ProxyRequest("GET http://host.example:81/a?b HTTP/1.1\r\nHost: host.example\r\nConnection: keep-alive"))
        #expect(get.host == "host.example")
        #expect(get.port == 81)
        #expect(
            String(decoding: try #require(get.head), as: UTF8.self)
                == "GET /a?b HTTP/1.1\r\nHost: host.example\r\nConnection: close\r\n\r\n")
        let tunnel = try #require(ProxyRequest("CONNECT host.example:443 HTTP/1.1"))
        #expect(tunnel.host == "host.example")
        #expect(tunnel.port == 443)
        #expect(tunnel.head == nil)
        for wrong in ["", "GET / HTTP/1.1", "CONNECT http://a/ HTTP/1.1", "GET ftp://a/ HTTP/1.1", "GET http://a/"] {
            #expect(ProxyRequest(wrong) == nil, "\(wrong)")
        }
    }

    @Test("the proxy connects to a listed address, and rejects another one without connecting")
    func proxy() async throws {
        let (listed, hidden) = (try Listener("127.0.0.1"), try Listener("127.0.0.2"))
        let refused = Mutex<[String]>([])
        let network = try #require(IPNetwork("127.0.0.1"))
        let relay = try OutboundProxy(.proxy(AddressPolicy(listed: [network]))) { why in
            refused.withLock { $0.append(why) }
        }
        let answer = try Listener.ask(relay.address, "GET http://\(listed.address)/x HTTP/1.1\r\n\r\n") {
            listed.answer("HTTP/1.1 200 OK\r\n\r\nhello")
        }
        #expect(answer.hasSuffix("hello"))
        #expect(listed.heard.hasPrefix("GET /x HTTP/1.1\r\n"))
        for request in ["GET http://\(hidden.address)/ HTTP/1.1\r\n\r\n", "CONNECT \(hidden.address) HTTP/1.1\r\n\r\n"]
        {
            #expect(try Listener.ask(relay.address, request) {}.hasPrefix("HTTP/1.1 403"))
        }
        #expect(!hidden.wasReached)
        #expect(refused.withLock { $0.count } == 2)
    }

    @Test("an RTSP response with a redirection never reaches the client, wherever the bytes are divided")
    func rtsp() {
        let harmless =
            "RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length: 5\r\n\r\n\nRTSP$\u{0}\u{0}\u{4}RTSP"
            + "RTSP/1.0 401 Unauthorized\r\n\r\n"
        let redirect = "RTSP/1.0 302 Moved\r\nLocation: rtsp://127.0.0.1/\r\n\r\n"
        for size in [1, 3, 7, 1_000] {
            var replies = RTSPReplies()
            #expect(pass(&replies, harmless, size))
            #expect(!pass(&replies, redirect, size))
        }
        // libavformat accepts a line feed alone as the end of a line, and spaces before the number.
        for text in ["RTSP/1.0  \t301 x\n\n", "$\u{0}\u{0}\u{1}xRTSP/1.0 399\n", "\r\nRTSP/1.0 300\n"] {
            var replies = RTSPReplies()
            #expect(!pass(&replies, text, 1))
        }
    }

    private func pass(_ replies: inout RTSPReplies, _ text: String, _ size: Int) -> Bool {
        let bytes = Array(text.utf8)
        return stride(from: 0, to: bytes.count, by: size).allSatisfy { start in
            replies.pass(bytes[start..<min(start + size, bytes.count)])
        }
    }
}

/// A server for one connection.
private final class Listener {
    private let listener: TCPListener
    private let text = Mutex("")

    var address: TransportAddress { listener.address }

    var heard: String { text.withLock { $0 } }

    init(_ host: String) throws {
        listener = try TCPListener(binding: TransportAddress(ip: try #require(IPAddress(host)), port: 0))
    }

    /// Whether a connection is waiting.
    var wasReached: Bool {
        if case .connection = listener.accept() { return true }
        return false
    }

    func answer(_ words: String) {
        guard RelayPipe.wait(reading: listener.number, milliseconds: 120_000),
            case .connection(let client) = listener.accept(), let (head, _) = RelayPipe.readHead(client)
        else { return }
        text.withLock { $0 = head }
        _ = RelayPipe.write(Array(words.utf8), to: client)
    }

    /// Returns what a client reads until the end.
    static func ask(_ place: TransportAddress, _ request: String, meanwhile: () -> Void) throws -> String {
        let client = try #require(RelayPipe.connect(to: place))
        try #require(RelayPipe.write(Array(request.utf8), to: client))
        meanwhile()
        var bytes: [UInt8] = []
        while let more = RelayPipe.read(client), !more.isEmpty { bytes += more }
        return String(decoding: bytes, as: UTF8.self)
    }
}
