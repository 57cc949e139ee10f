import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PCastCore
import Testing

@testable import PCastPlatform

/// The second codec that a publisher sends for viewers who do not decode the first one.
@Suite struct SecondCodecTests {
    /// The second-codec events of a publisher.
    private final class Events {
        struct Request: Decodable, Equatable {
            var codec: String?
            var key: String?
        }

        private var iterator: HTTPClientResponse.Body.AsyncIterator
        private var text = ""

        init(_ platform: TestPlatform, of publisher: String) async throws {
            let response = try await HTTPClient.shared.execute(
                HTTPClientRequest(url: platform.uri + publisher + "/events"), timeout: .hours(1))
            try #require(response.status == .ok)
            iterator = response.body.makeAsyncIterator()
        }

        /// Returns the next request; nil at the end.
        func next() async throws -> Request? {
            while true {
                if let end = text.range(of: "\n\n") {
                    let lines = text[..<end.lowerBound].split(separator: "\n")
                    text.removeSubrange(..<end.upperBound)
                    guard lines.count == 2, lines[0] == "event: second-codec" else { continue }
                    return try JSONDecoder().decode(Request.self, from: Data(lines[1].dropFirst("data: ".count).utf8))
                }
                guard let bytes = try await iterator.next() else { return nil }
                text += String(buffer: bytes)
            }
        }
    }

    /// Returns the offer of a viewer that decodes H.264 only.
    private static func viewerOfH264() throws -> String {
        try Offers.viewer()
            .replacing("H265/90000", with: "H266/90000").replacing("VP8/90000", with: "H266/90000")
            .replacing("VP9/90000", with: "H266/90000").replacing("AV1/90000", with: "H266/90000")
    }

    private static let reports = ["Accept": "application/sdp, application/problem+json"]

    private func run(
        _ streams: SecondCodecStreams,
        _ body: (TestPlatform, _ stream: String, _ publisher: String) async throws -> Void
    ) async throws {
        try await TestPlatform.runConfigured(configure: { $0.secondCodec = streams }) { platform in
            let offer = try Offers.publisher(video: .vp8)
            let answer = try await platform.post("/whip?secondCodec=offered", offer)
            try #require(answer.status == 201)
            let stream = try #require(answer.header("PCast-Stream-Id"))
            try await body(platform, stream, try #require(answer.header("Location")))
        }
    }

    @Test("a publisher is asked when a viewer does not decode its codec, and sends the second one with the key only")
    func asks() async throws {
        try await run(.all) { platform, stream, publisher in
            let events = try await Events(platform, of: publisher)
            let offer = try Self.viewerOfH264()
            async let viewer = platform.post("/whep/\(stream)", offer, headers: Self.reports)
            let request = try #require(try await events.next())
            #expect(request.codec == "H264")
            let key = try #require(request.key)
            let second = try Offers.publisher(video: .h264)
            #expect(try await platform.post("/whip?secondCodecKey=other", second).status == 409)
            // Another codec is of no use.
            let wrong = try Offers.publisher(video: .vp8)
            let refused = try await platform.post("/whip?secondCodecKey=\(key)", wrong)
            #expect(refused.status != 201)
            #expect(try await events.next() == Events.Request())
            #expect(try await viewer.status == 422)
        }
    }

    @Test("the second codec is not found as a stream, and its end before the first packet rejects the viewer")
    func ends() async throws {
        try await run(.all) { platform, stream, publisher in
            let events = try await Events(platform, of: publisher)
            let offer = try Self.viewerOfH264()
            async let viewer = platform.post("/whep/\(stream)", offer, headers: Self.reports)
            let key = try #require(try await events.next()?.key)
            let second = try Offers.publisher(video: .h264)
            let answer = try await platform.post("/whip?secondCodecKey=\(key)", second)
            #expect(answer.status == 201)
            #expect(try await platform.post("/whip?secondCodecKey=\(key)", second).status == 409)
            // The newest stream is the first one.
            let newest = try await platform.post("/whep", try Offers.viewer())
            #expect(newest.status == 201 && newest.body.contains("VP8/90000"))
            let location = try #require(answer.header("Location"))
            #expect(try await platform.send("DELETE", location).status == 200)
            #expect(try await events.next() == Events.Request())
            #expect(try await viewer.status == 422)
            // The next viewer asks again, with another key.
            let again = try Self.viewerOfH264()
            async let other = platform.post("/whep/\(stream)", again, headers: Self.reports)
            let next = try #require(try await events.next())
            #expect(next.codec == "H264" && next.key != key)
            // The end of the publisher ends the wait.
            #expect(try await platform.send("DELETE", publisher).status == 200)
            #expect(try await other.status != 201)
        }
    }

    @Test("nobody is asked if the setting excludes the stream", arguments: [SecondCodecStreams.off, .requested])
    func excluded(streams: SecondCodecStreams) async throws {
        try await run(streams) { platform, stream, publisher in
            let answer = try await platform.post("/whep/\(stream)", try Self.viewerOfH264(), headers: Self.reports)
            #expect(answer.status == 422)
        }
    }

    @Test("the setting selects streams by the capability") func capability() {
        #expect(SecondCodecStreams.requested.applies(to: ["second-codec"]))
        #expect(!SecondCodecStreams.requested.applies(to: ["multi-bitrate"]))
        #expect(SecondCodecStreams.all.applies(to: []))
        #expect(!SecondCodecStreams.off.applies(to: ["second-codec"]))
    }
}
