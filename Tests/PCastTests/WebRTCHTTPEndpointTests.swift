import PCastCore
import PCastWebRTC
import Testing

@testable import PCast

/// The client of WHIP and WHEP endpoints of other servers.
@Suite("Endpoints of other servers")
struct WebRTCHTTPEndpointTests {
    @Test(
        "schemes stand for HTTP and HTTPS, and user information is not a part of the requested URI",
        arguments: [
            ("whip://live.example.com/app/key", "http://live.example.com:80/app/key"),
            ("whips://token@live.example.com/app", "https://live.example.com:443/app"),
            ("whep://live.example.com:8889/cam/whep?x=1", "http://live.example.com:8889/cam/whep?x=1"),
            ("WHEPS://user:word@[2001:db8::1]:8443/cam", "https://[2001:db8::1]:8443/cam"),
            ("https://live.example.com", "https://live.example.com:443/"),
        ])
    func uri(_ text: String, _ requested: String) throws {
        #expect(try WebRTCHTTPEndpoint(text).uri == requested)
    }

    @Test(
        "other addresses, and tokens that would end a field, are rejected",
        arguments: [
            "rtmp://live.example.com/app/key", "live.example.com", "whip://", "whip://a b/", "file:///etc/passwd",
            "whip://a%0D%0Ab@live.example.com/",
        ])
    func rejected(_ text: String) throws {
        let error = #expect(throws: PCastError.self) { try WebRTCHTTPEndpoint(text) }
        #expect(error?.status == .badRequest)
        #expect(throws: PCastError.self) { try WebRTCHTTPEndpoint("whip://live.example.com/", token: "a\r\nb") }
    }

    @Test(
        "the session's URI may be relative, and must be one of HTTP",
        arguments: [
            ("/session/1", "https://live.example.com:443/session/1"),
            ("session/1", "https://live.example.com:443/whip/session/1"),
            ("https://other.example.com/1", "https://other.example.com/1"),
            ("//other.example.com/1", "https://other.example.com/1"), ("file:///etc/passwd", nil),
            ("javascript:1", nil),
        ] as [(String, String?)])
    func resolved(_ reference: String, _ expected: String?) {
        #expect(
            WebRTCHTTPEndpoint.resolve(reference, against: "https://live.example.com:443/whip/endpoint") == expected)
    }

    @Test("the answer of a server that names only forbidden addresses is refused")
    func candidates() async throws {
        let offerer = try MediaCall(
            .publish(video: .h264, audio: true), at: PlatformAddress(option: "http://127.0.0.1", token: ""),
            received: { _ in })
        defer { offerer.close() }
        let answer = [
            "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "m=audio 9 UDP/TLS/RTP/SAVPF 111",
            "c=IN IP4 0.0.0.0", "a=candidate:1 1 UDP 2122252543 10.0.0.1 5000 typ host", "",
        ].joined(separator: "\r\n")
        let forbidden = try #require(IPAddress("10.0.0.1"))
        let error = await #expect(throws: PCastError.self) {
            try await offerer.accept(answer) { $0 != forbidden }
        }
        #expect(error?.description.contains("media addresses") == true)
    }
}
