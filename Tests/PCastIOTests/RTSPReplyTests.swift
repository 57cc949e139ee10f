import Glibc
import PCastCore
import Synchronization
import Testing

@testable import PCastIO

/// Responses of RTSP servers that libavformat interprets as a redirection, but a text parser does not.
@Suite("RTSP responses are parsed as bytes")
struct RTSPReplyTests {
    private static let location = Array("Location: rtsp://10.0.0.5/\r\n\r\n".utf8)

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// Each response is followed by a location.
    static let redirects: [[UInt8]] = [
        bytes("RTSP/1.0 4294967598 x\r\n"),
        bytes("RTSP/1.0 302\u{301}\r\n"),
        bytes("RTSP/\u{301} 302 x\r\n"),
        bytes("RTSP/1.0" + String(repeating: " ", count: 1_100) + "302\r\n"),
        bytes("RTSP/1.0 200 OK\r\nCSeq: 1\r\n\u{0}\r\nRTSP/1.0 302 x\r\n"),
        bytes("RTSP/1.0 200 OK\r\nContent-Length: 4294967297\r\n\r\nxRTSP/1.0 302 x\r\n"),
        // Further replies of the same kinds.
        bytes("RTSP/1.0 18446744073709551918\r\n"), bytes("RTSP/1.0 +302\r\n"), bytes("RTSP/1.0\u{B}302\r\n"),
        bytes("RTSP/1.0 \u{B}302\r\n"), bytes("RTSP/1.0  302 x\r\n"), bytes(" RTSP/1.0 302 x\r\n"),
        bytes("\tRTSP/1.0 302 x\r\n"), bytes("RTSP/1.0\t302 x\r\n"), bytes("RTSP/ 302\r\n"), bytes("RTSP/1 302\r\n"),
        bytes("RTSP/1.0 302x\r\n"), bytes("RTSP/1.0 0302 x\r\n"), bytes("RTSP/1.0 302"),
        bytes("RTSP/1.0 30\r2 x\r\n"), bytes("\u{0}\r\nRTSP/1.0 302 x\r\n"),
        bytes("RTSP/1.0 200 OK\r\nContent-Length: 5x\r\n\r\n12345RTSP/1.0 302 x\r\n"),
        bytes("RTSP/1.0 200 OK\r\nContent-Length: -1\r\n\r\nRTSP/1.0 302 x\r\n"),
        bytes("RTSP/1.0 200 OK\r\nContent-Length:\r\n\r\nRTSP/1.0 302 x\r\n"),
        bytes("RTSP/1.0 200 OK\r\nContent-Length: 0x10\r\n\r\nRTSP/1.0 302 x\r\n"),
        bytes("RTSP/1.0 200 OK\r\nContent-Length: \u{B}9\r\n\r\nRTSP/1.0 302 x\r\n"),
        bytes("RTSP/1.0 200 OK\r\ncontent-length: 3\u{301}\r\n\r\nRTSP/1.0 302 x\r\n"),
        [0x52, 0x54, 0x53, 0x50, 0x2F, 0xFF] + bytes(" 302 x\r\n"),
    ]

    @Test("no response that C interprets as a redirection is forwarded completely", arguments: redirects.indices)
    func refused(index: Int) {
        for size in [1, 7, 100_000] {
            var replies = RTSPReplies()
            let bytes = Self.redirects[index] + Self.location
            let passed = stride(from: 0, to: bytes.count, by: size).allSatisfy { start in
                replies.pass(bytes[start..<min(start + size, bytes.count)])
            }
            #expect(!passed, "\(size)")
        }
    }

    @Test("a line of more than 1,023 bytes, and content of more than a mebibyte, ends the connection")
    func bounds() {
        var replies = RTSPReplies()
        let passed1 = replies.pass(Self.bytes("RTSP/1.0 200 OK\r\nX: " + String(repeating: "x", count: 1_020) + "\r\n"))
        #expect(passed1)
        let passed2 = replies.pass(Self.bytes("X: " + String(repeating: "x", count: 1_021) + "\r\n"))
        #expect(!passed2)
        replies = RTSPReplies()
        let passed3 = replies.pass(Self.bytes("RTSP/1.0 200 OK\r\nContent-Length: 1048576\r\n\r\n"))
        #expect(passed3)
        replies = RTSPReplies()
        let passed4 = replies.pass(Self.bytes("RTSP/1.0 200 OK\r\nContent-Length: 1048577\r\n\r\n"))
        #expect(!passed4)
    }

    @Test("other data of servers is forwarded: responses, content, media, and requests")
    func ordinary() {
        var replies = RTSPReplies()
        let text =
            "RTSP/1.0 200 OK\r\nCSeq: 1\r\nPublic: OPTIONS, DESCRIBE\r\n\r\n"
            + "RTSP/1.0 401 Unauthorized\nCSeq: 2\nWWW-Authenticate: Digest realm=\"caf\u{E9}\"\n\n"
            + "RTSP/1.0 200 OK\r\nContent-Base: rtsp://host/\r\ncontent-length:  21 \r\n\r\nRTSP/1.0 302 content\n"
            + "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\nRTSP/1.0 404\r\n\r\nRTSP/2.0 200 \r\n\r\n"
        let passed5 = replies.pass(Self.bytes(text))
        #expect(passed5)
        // A packet of media may contain anything.
        let payload = Self.bytes("\nRTSP/1.0 302 x\n\u{0}")
        let passed6 = replies.pass([0x24, 0, 0, UInt8(payload.count)] + payload)
        #expect(passed6)
        let passed7 = replies.pass(Self.bytes("RTSP/1.0 200 OK\r\nCSeq: 3\r\n\r\n"))
        #expect(passed7)
        let passed8 = replies.pass(Self.bytes("RTSP/1.0 302 x\r\n"))
        #expect(!passed8)
    }

    @Test("packets that libavformat does not process are not forwarded, and what follows them is parsed")
    func shortPackets() {
        let response = Self.bytes("RTSP/1.0 200 OK\r\nCSeq: 3\r\n\r\n")
        let media = [0x24, 0, 0, 8] + Self.bytes("\nRTSP/1.")
        let short: [[UInt8]] = [
            [0x24, 1, 0, 0],
            // An RTCP BYE without sources (RFC 3550, section 6.6).
            [0x24, 1, 0, 4, 0x80, 203, 0, 0],
            // libavformat would parse these as lines, and a packet of 65,535 bytes would follow.
            [0x24, 0, 0, 1, 0x0A], [0x24, 0, 0, 4, 0x24, 0, 0xFF, 0xFF], [0x24, 0, 0, 7] + Self.bytes("RTSP/1."),
        ]
        for packet in short {
            let said = response + media + packet + media + packet + packet + response
            for size in [1, 7, 100_000] {
                var replies = RTSPReplies()
                var passed: [UInt8] = []
                for start in stride(from: 0, to: said.count, by: size) {
                    let isPassed = replies.pass(said[start..<min(start + size, said.count)])
                    #expect(isPassed)
                    passed += replies.passed
                }
                #expect(passed == response + media + media + response, "\(packet) in pieces of \(size)")
                let isRedirectPassed = replies.pass(Self.bytes("RTSP/1.0 302 x\r\n"))
                #expect(!isRedirectPassed)
            }
        }
    }

    @Test("a challenge with a new nonce is marked as stale, and everything else is unchanged")
    func challenges() {
        func challenge(_ nonce: String, _ more: String) -> String {
            "RTSP/1.0 401 Unauthorized\r\nCSeq: 2\r\nWWW-Authenticate: Digest realm=\"x\", nonce=\"\(nonce)\"\(more)\r\n\r\n"
        }
        let media = "$\u{0}\u{0}\u{8}RTSP/1.0"
        let basic = "RTSP/1.0 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\r\n"
        let said =
            challenge("a", ", stale=\"FALSE\"") + media + challenge("a", ", stale=FALSE") + basic
            + challenge("b", ", stale=\"FALSE\", algorithm=MD5") + media + challenge("c", "")
            + challenge("d", ", stale=true")
        let heard =
            challenge("a", ", stale=\"FALSE\"") + media + challenge("a", ", stale=FALSE") + basic
            + challenge("b", ", stale=TRUE, algorithm=MD5") + media + challenge("c", ", stale=TRUE")
            + challenge("d", ", stale=TRUE")
        for size in [1, 7, 100_000] {
            var replies = RTSPReplies()
            var passed: [UInt8] = []
            let bytes = Self.bytes(said)
            for start in stride(from: 0, to: bytes.count, by: size) {
                let isPassed = replies.pass(bytes[start..<min(start + size, bytes.count)])
                #expect(isPassed)
                passed += replies.passed
            }
            #expect(String(decoding: passed, as: UTF8.self) == heard)
        }
    }

    @Test("the client of a guarded connection never reads a redirection", arguments: 0..<6)
    func connection(index: Int) async throws {
        let listener = try TCPListener(binding: TransportAddress(ip: .loopbackV4, port: 0))
        let refused = Mutex(0)
        let relay = try OutboundProxy(.rtsp(listener.address)) { _ in refused.withLock { $0 += 1 } }
        let client = try #require(RelayPipe.connect(to: relay.address))
        try #require(RelayPipe.write(Self.bytes("OPTIONS rtsp://x RTSP/1.0\r\nCSeq: 1\r\n\r\n"), to: client))
        try #require(RelayPipe.wait(reading: listener.number, milliseconds: 120_000))
        guard case .connection(let server) = listener.accept() else {
            Issue.record("no client has connected")
            return
        }
        _ = RelayPipe.read(server)
        // The server closes afterwards, so that reading ends in any case.
        _ = RelayPipe.write(Self.redirects[index] + Self.location, to: server)
        server.finishWriting()
        var heard: [UInt8] = []
        while let more = RelayPipe.read(client), !more.isEmpty { heard += more }
        #expect(heard.firstRange(of: Self.bytes("Location")) == nil)
        #expect(refused.withLock { $0 } == 1)
    }
}

extension Descriptor {
    fileprivate func finishWriting() { shutdown(number, Int32(SHUT_WR)) }
}
