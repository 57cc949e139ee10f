import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PCastCore
import PCastHLS
import PCastIO
import PCastWeb
import Testing

@testable import PCastBench

/// The observation of playlists by HTTP, which `pcast-bench hls-rules` reports.
@Suite("Observed playlists") struct PlaylistObserverTests {
    /// A live playlist that violates no rule.
    private static let live = """
        #EXTM3U
        #EXT-X-VERSION:9
        #EXT-X-TARGETDURATION:2
        #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=12.0,HOLD-BACK=6.0,PART-HOLD-BACK=3.0
        #EXT-X-PART-INF:PART-TARGET=1.0
        #EXT-X-DISCONTINUITY-SEQUENCE:0
        #EXT-X-INDEPENDENT-SEGMENTS
        #EXT-X-MAP:URI="init.mp4"
        #EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00.000Z
        #EXT-X-PART:DURATION=1.0,URI="0.0.m4s",INDEPENDENT=YES
        #EXT-X-PART:DURATION=1.0,URI="0.1.m4s"
        #EXTINF:2.0,
        0.m4s
        #EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:02.000Z
        #EXT-X-PART:DURATION=1.0,URI="1.0.m4s",INDEPENDENT=YES
        #EXT-X-PRELOAD-HINT:TYPE=PART,URI="1.1.m4s"

        """

    /// A multivariant playlist of it.
    private static let list = """
        #EXTM3U
        #EXT-X-VERSION:9
        #EXT-X-INDEPENDENT-SEGMENTS
        #EXT-X-STREAM-INF:BANDWIDTH=900000,AVERAGE-BANDWIDTH=800000,CODECS="avc1.42c01f",RESOLUTION=640x360,FRAME-RATE=30
        sub/live.m3u8

        """

    /// Runs `body` with a server that always sends the same playlists. `type` is the media type, and `isStrict` whether
    /// the server refuses requests that are too far ahead.
    private static func serve(
        _ live: String = PlaylistObserverTests.live, type: String, isStrict: Bool, _ body: (String) async throws -> Void
    ) async throws {
        let routes = Router(context: WebRequestContext.self)
        @Sendable func response(_ text: String, _ request: Request) -> Response {
            let number = request.uri.queryParameters["_HLS_msn"].flatMap { Int(String($0)) } ?? 0
            guard number < 4 || !isStrict else { return Response(status: .badRequest) }
            var headers: HTTPFields = [.contentType: type]
            var bytes = Array(text.utf8)
            if isStrict, request.headers[.acceptEncoding] == "gzip", let coded = GzipEncoder.encode(bytes) {
                bytes = coded
                headers[.contentEncoding] = "gzip"
            }
            return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
        }
        routes.get("/index.m3u8") { request, _ in response(list, request) }
        routes.get("/sub/live.m3u8") { request, _ in response(live, request) }
        let web = WebServer(
            binding: .init(host: "127.0.0.1", port: 0), router: routes, webSocketPath: "/none",
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { _ in }
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let serving = Task { try await web.run { continuation.yield($0) } }
        defer { serving.cancel() }
        guard let port = await ports.first(where: { _ in true }) else { return }
        try await body("http://127.0.0.1:\(port)")
    }

    private static func rules(_ violations: Set<RuleViolation>) -> Set<PlaylistRule> { Set(violations.map(\.rule)) }

    @Test("the responses of a server that does not wait, does not refuse and sends the wrong type violate these rules")
    func live() async throws {
        try await Self.serve(type: "text/plain", isStrict: false) { address in
            let end = MonotonicClock.now() + .milliseconds(200)
            let observation = try await PlaylistObserver(uri: address + "/sub/live.m3u8").run(until: end)
            #expect(
                Self.rules(observation.violations) == [
                    .contentTypeWrong, .compressionMissing, .requestTooFarAheadAccepted, .reloadAnsweredTooEarly,
                ])
            #expect(observation.versions == 1)
        }
    }

    @Test("a presentation that has ended and keeps the rules has no violation")
    func ended() async throws {
        let ended = Self.live.replacing("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"1.1.m4s\"\n", with: "#EXT-X-ENDLIST\n")
        try await Self.serve(ended, type: "application/vnd.apple.mpegurl", isStrict: true) { address in
            let observer = PresentationObserver(uri: address + "/index.m3u8")
            let (results, violations) = try await observer.run(until: MonotonicClock.now() + .seconds(60 as Int64))
            #expect(results.map(\.uri) == ["sub/live.m3u8"])
            #expect(results.allSatisfy { $0.observation.violations == [] })
            #expect(violations == [])
        }
    }

    @Test("violations of a presentation are found by HTTP, and an address without a playlist is an error")
    func planted() async throws {
        let wrong = Self.live.replacing("PART-HOLD-BACK=3.0", with: "PART-HOLD-BACK=2.0")
        try await Self.serve(wrong, type: "application/vnd.apple.mpegurl", isStrict: true) { address in
            let observer = PresentationObserver(uri: address + "/index.m3u8")
            let (results, violations) = try await observer.run(until: MonotonicClock.now())
            #expect(Self.rules(violations) == [.partHoldBackTooShort])
            #expect(results.first.map { Self.rules($0.observation.violations) } == [.partHoldBackTooShort])
            await #expect(throws: BenchFailure.self) {
                _ = try await PlaylistObserver.load(address + "/nothing.m3u8")
            }
        }
    }
}

@Suite("Parts that a playlist announces")
struct HintedPartTests {
    private static func response(_ playlist: String, status: String = "200 OK", field: String = "content-length")
        -> [UInt8]
    {
        Array("HTTP/1.1 \(status)\r\nVary: a\r\n\(field): \(playlist.utf8.count)\r\n\r\n\(playlist)".utf8)
    }

    private static let playlist =
        "#EXTM3U\n#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"video0/ab-12.3.m4s\"\n#EXT-X-RENDITION-REPORT:URI=\"TEST\"\n"

    @Test("a response is taken when it is complete, with the announced part")
    func complete() {
        let all = Self.response(Self.playlist) + Self.response(Self.playlist, field: "Content-Length")
        var received: [UInt8] = []
        var parts: [HintedPart] = []
        for byte in all {
            received.append(byte)
            if case .some(.some(let part)) = HintedPart.take(from: &received) { parts.append(part) }
        }
        #expect(parts == [HintedPart](repeating: HintedPart(segment: 12, index: 3), count: 2) && received.isEmpty)
    }

    @Test("an error, a response without a length and a playlist without a hint are failures")
    func failures() {
        for wrong in [
            Self.response(Self.playlist, status: "404 Not Found"), Self.response(Self.playlist, field: "x-length"),
            Self.response("#EXTM3U\n"), Self.response("TYPE=PART,URI=\"a\"\n"),
        ] {
            var received = wrong
            let part = HintedPart.take(from: &received)
            #expect(part == .some(nil))
        }
    }
}
