import CDispatch
import Glibc
import PCastCore
import PCastTimeline
import Testing

@Suite("A timeline consumer that does not read")
struct SlowConsumerTests {
    private static let game = "/timeline/NHL/1"

    @Test("a consumer that is too far behind must reconnect, and delays no other")
    func behind() async throws {
        try await TestPlatform.run { platform async throws in
            #expect(try await platform.ask("POST", Self.game + "/events/a", "{}").status == 201)
            let socket = try Self.open(platform, Self.game + "/changes")
            defer { close(socket) }
            #expect(try await platform.reaches("pcast_timeline_consumers", 1))
            try await TimelineListener.follow(platform, Self.game + "/changes") { listener, _ async throws in
                #expect(try await listener.reaches(1))
                // This is more than the system buffers between the two sockets.
                let large = String(repeating: "x", count: 60_000)
                for index in 0..<160 {
                    #expect(
                        try await platform.ask("PATCH", Self.game + "/events/a", #"{"n":"\#(index)","d":"\#(large)"}"#)
                            .status == 200)
                    // This consumer must not fall behind as well on a slow machine.
                    #expect(try await listener.reaches(2 + index))
                }
                for index in 0..<600 {
                    #expect(
                        try await platform.ask("PATCH", Self.game + "/events/a", #"{"n":"s\#(index)"}"#).status == 200)
                    #expect(try await listener.reaches(162 + index))
                }
                #expect(listener.revisions.map(\.number.value) == Array(1...761))
            }
            let text = Self.readAll(socket)
            #expect(text.contains(#"{"type":"behind","newest":761}"#))
            // The consumer reconnects with the state that it has.
            #expect(!text.contains(#""seq":761,"#))
            #expect(try await platform.reaches("pcast_timeline_consumers", 0))
        }
    }

    /// Opens a WebSocket with a small buffer, from which nothing is read.
    private static func open(_ platform: TestPlatform, _ path: String) throws -> Int32 {
        let port = try #require(UInt16(platform.uri.split(separator: ":").last ?? ""))
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var size: Int32 = 4_096
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        // A reader that never receives the end does not wait forever.
        var timeout = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isOpen = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) == 0 }
        }
        try #require(isOpen)
        let request =
            "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        let bytes = Array(request.utf8)
        try #require(send(descriptor, bytes, bytes.count, 0) == bytes.count)
        return descriptor
    }

    private static func readAll(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &piece, piece.count, 0)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece.prefix(count)
        }
    }
}
