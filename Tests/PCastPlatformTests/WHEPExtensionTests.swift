import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PCastCore
import PCastWebRTC
import Testing

@testable import PCastPlatform
@testable import PCastSFU

/// The extensions of draft-ietf-wish-whep for events (`core:server-sent-events`) and layers (`core:layer`).
@Suite struct WHEPExtensionTests {
    private static let json = ["Content-Type": "application/json"]

    /// Events that arrive in one response.
    private final class Reader {
        struct Event: Equatable {
            let type: String
            let data: String
        }

        private var iterator: HTTPClientResponse.Body.AsyncIterator
        private var text = ""

        init(_ platform: TestPlatform, _ address: String) async throws {
            let response = try await HTTPClient.shared.execute(
                HTTPClientRequest(url: platform.uri + address), timeout: .hours(1))
            try #require(response.status == .ok)
            #expect(response.headers.first(name: "Content-Type") == "text/event-stream")
            iterator = response.body.makeAsyncIterator()
        }

        /// Returns the next event; nil at the end.
        func next() async throws -> Event? {
            while true {
                if let end = text.range(of: "\n\n") {
                    let lines = text[..<end.lowerBound].split(separator: "\n")
                    text.removeSubrange(..<end.upperBound)
                    // The platform sends a comment every 15 s. The data of an event MUST be in one line.
                    guard lines.count == 2 else { continue }
                    return Event(
                        type: String(lines[0].dropFirst("event: ".count)),
                        data: String(lines[1].dropFirst("data: ".count)))
                }
                guard let bytes = try await iterator.next() else { return nil }
                text += String(buffer: bytes)
            }
        }
    }

    private struct Session {
        let platform: TestPlatform
        let publisher: String
        let location: String

        func create(_ body: String?, _ headers: [String: String] = json) async throws -> TestPlatform.Response {
            try await platform.send("POST", location + "/events", headers, body: body)
        }

        /// Creates an event stream and returns its address.
        func eventStream(_ types: String...) async throws -> String {
            let answer = try await create("[\(types.map { "\"\($0)\"" }.joined(separator: ","))]")
            try #require(answer.status == 201)
            return try #require(answer.header("Location"))
        }

        func select(_ body: String) async throws -> Int {
            try await platform.send("POST", location + "/layer", json, body: body).status
        }
    }

    private func run(layers: Int = 1, _ body: (Session) async throws -> Void) async throws {
        try await TestPlatform.run { platform async throws in
            let published = try await platform.post("/whip", try Offers.publisher(layers: layers))
            let publisher = try #require(published.header("Location"))
            let viewer = try await platform.post("/whep", try Offers.viewer())
            let location = try #require(viewer.header("Location"))
            try await body(Session(platform: platform, publisher: publisher, location: location))
        }
    }

    // MARK: Events

    @Test("the Link of events lists all types, and that of layers requires the event “layers”")
    func announced() async throws {
        try await TestPlatform.run { platform async throws in
            _ = try await platform.publish()
            let viewer = try await platform.post("/whep", try Offers.viewer())
            let link = try #require(viewer.headers["Link"].first { $0.contains("server-sent-events") })
            let list = "data-quality,ended,captions,active,inactive,layers,viewercount,reconnect"
            #expect(link.hasSuffix("; events=\"\(list)\""))
        }
    }

    @Test("an event stream receives only the requested types, from before it is read, until the session ends")
    func requested() async throws {
        try await run { session async throws in
            let address = try await session.eventStream("active", "inactive", "ended")
            let reader = try await Reader(session.platform, address)
            #expect(try await reader.next()?.type == "active")
            #expect(try await session.platform.send("DELETE", session.publisher).status == 200)
            let inactive = try await reader.next()
            #expect(inactive?.type == "inactive" && inactive?.data == "{}")
            let ended = try await reader.next()
            #expect(ended?.type == "ended" && ended?.data == #"{"reason":"ended"}"#)
            #expect(try await reader.next() == nil)
            // MUST be destroyed when the session is terminated.
            #expect(try await eventually { try await session.platform.send("GET", address).status == 404 })
        }
    }

    @Test("without a body, an event stream has all types") func all() async throws {
        try await run { session async throws in
            let answer = try await session.create(nil, [:])
            #expect(answer.status == 201)
            let reader = try await Reader(session.platform, try #require(answer.header("Location")))
            var missing: Set = ["data-quality", "active", "layers", "viewercount"]
            while !missing.isEmpty, let event = try await reader.next() { missing.remove(event.type) }
            #expect(missing.isEmpty)
        }
    }

    @Test(
        "a type that is not announced MUST be answered by 400, without an event stream",
        arguments: [
            (#"["active","scte35"]"#, "scte35"), (#"["Active"]"#, "Active"), ("{}", "JSON array"),
            ("[1]", "JSON array"), ("nonsense", "JSON array"), (#"["active""#, "JSON array"),
        ])
    func unknown(body: String, word: String) async throws {
        try await run { session async throws in
            let answer = try await session.create(body)
            #expect(answer.status == 400 && answer.header("Location") == nil && answer.body.contains(word))
        }
    }

    @Test("a session has a bounded number of event streams, and DELETE destroys one") func bounded() async throws {
        try await run { session async throws in
            var addresses: [String] = []
            for _ in 0..<4 { addresses.append(try await session.eventStream("active")) }
            #expect(Set(addresses).count == 4)
            #expect(try await session.create("[]").status == 503)
            let reader = try await Reader(session.platform, addresses[0])
            #expect(try await reader.next()?.type == "active")
            #expect(try await session.platform.send("HEAD", addresses[0]).status == 200)
            #expect(try await session.platform.send("DELETE", addresses[0]).status == 200)
            #expect(try await reader.next() == nil)
            for method in ["GET", "HEAD", "DELETE"] {
                #expect(try await session.platform.send(method, addresses[0]).status == 404)
            }
            _ = try await session.eventStream("active")
            #expect(try await session.platform.send("PUT", addresses[1]).status == 405)
            #expect(try await session.platform.send("GET", "/whep/resource/none/events/none").status == 404)
        }
    }

    @Test("the second reader of an event stream takes over from the first") func secondReader() async throws {
        try await run { session async throws in
            let address = try await session.eventStream("active", "ended")
            let first = try await Reader(session.platform, address)
            #expect(try await first.next()?.type == "active")
            let second = try await Reader(session.platform, address)
            #expect(try await first.next() == nil)
            #expect(try await session.platform.send("DELETE", session.location).status == 200)
            #expect(try await second.next()?.type == "ended")
        }
    }

    @Test("the number of viewers is reported, and each change") func viewerCount() async throws {
        try await run { session async throws in
            let reader = try await Reader(session.platform, try await session.eventStream("viewercount"))
            #expect(try await reader.next()?.data == #"{"viewercount":1}"#)
            let other = try await session.platform.post("/whep", try Offers.viewer())
            #expect(try await reader.next()?.data == #"{"viewercount":2}"#)
            let location = try #require(other.header("Location"))
            #expect(try await session.platform.send("DELETE", location).status == 200)
            #expect(try await reader.next()?.data == #"{"viewercount":1}"#)
        }
    }

    @Test("the layers are reported by the index of their media section, and each one MUST have its RID") func layers()
        async throws
    {
        struct Layer: Decodable {
            let rid: String
            let active: Bool
        }
        try await run(layers: 3) { session async throws in
            let reader = try await Reader(session.platform, try await session.eventStream("layers"))
            let event = try #require(try await reader.next())
            let layers = try JSONDecoder().decode([String: [Layer]].self, from: Data(event.data.utf8))
            #expect(layers.keys.sorted() == ["0"] && Set(layers["0"]?.map(\.rid) ?? []) == ["l", "m", "h"])
        }
    }

    @Test("players receive “reconnect” before the platform stops", .timeLimit(.minutes(5)))
    func reconnect() async throws {
        let (responses, continuation) = AsyncStream.makeStream(of: HTTPClientResponse.self)
        try await run { session async throws in
            let address = try await session.eventStream("active", "reconnect", "ended")
            continuation.yield(
                try await HTTPClient.shared.execute(
                    HTTPClientRequest(url: session.platform.uri + address), timeout: .hours(1)))
            session.platform.end()
            await session.platform.isOver()
        }
        let response = try #require(await responses.first { _ in true })
        let text = String(buffer: try await response.body.collect(upTo: 1 << 12)).replacing(":\n\n", with: "")
        #expect(
            text == "event: active\ndata: {}\n\nevent: reconnect\ndata: {}\n\n"
                + "event: ended\ndata: {\"reason\":\"maintenance\"}\n\n")
    }

    @Test("a publisher whose packets stop is inactive, which MUST NOT be the initial event") func activity()
        async throws
    {
        try await TestPlatform.run { platform async throws in
            var publisher: MediaPeer? = try MediaPeer.publisher()
            let published = try await platform.post("/whip", try #require(publisher).offer)
            #expect(try await publisher?.connect(published.body) == true)
            let viewer = try await platform.post("/whep", try Offers.viewer())
            let session = Session(
                platform: platform, publisher: try #require(published.header("Location")),
                location: try #require(viewer.header("Location")))
            let reader = try await Reader(platform, try await session.eventStream("active", "inactive"))
            #expect(try await reader.next()?.type == "active")
            publisher = nil
            #expect(try await reader.next()?.type == "inactive")
            let later = try await Reader(platform, try await session.eventStream("inactive", "viewercount"))
            #expect(try await later.next()?.type == "viewercount")
        }
    }

    @Test("layers are reported again if more changes than bit rates by a fifth") func changes() {
        func layers(_ bitrate: Int64?, width: Int = 640, isAvailable: Bool = true) -> [VideoLayer] {
            [
                VideoLayer(
                    .init(
                        name: "h", bitrate: bitrate.map { Bitrate.kilobits($0) },
                        dimensions: Dimensions(width: width, height: 360), isAvailable: isAvailable))
            ]
        }
        #expect(VideoLayer.isChange(from: nil, to: layers(1_000)))
        #expect(!VideoLayer.isChange(from: layers(1_000), to: layers(1_000)))
        #expect(!VideoLayer.isChange(from: layers(1_000), to: layers(1_150)))
        #expect(VideoLayer.isChange(from: layers(1_000), to: layers(1_250)))
        #expect(VideoLayer.isChange(from: layers(1_000), to: layers(nil)))
        #expect(VideoLayer.isChange(from: layers(1_000), to: layers(1_000, width: 320)))
        #expect(VideoLayer.isChange(from: layers(1_000), to: layers(1_000, isAvailable: false)))
        #expect(VideoLayer.isChange(from: layers(1_000), to: []))
        #expect(layers(1_000, isAvailable: false)[0].bitrate == nil)
    }

    // MARK: Layers

    private struct Listing: Decodable { let selected: String? }

    /// Returns the selected layer that a list of layers contains.
    private static func selectedLayer(_ list: String) throws -> String? {
        try JSONDecoder().decode(Listing.self, from: Data(list.utf8)).selected
    }

    @Test("a layer is selected by its rid, and an object without one returns the choice to the platform")
    func selection() async throws {
        try await run(layers: 3) { session async throws in
            func selected() async throws -> String? {
                try Self.selectedLayer(try await session.platform.send("GET", session.location + "/layer").body)
            }
            #expect(try await session.select(#"{"mediaId":"0","rid":"m"}"#) == 200)
            #expect(try await selected() == "m")
            #expect(try await session.select(#"{"mediaId":"0"}"#) == 200)
            #expect(try await selected() == nil)
            #expect(try await session.select(#"{"rid":"l","encodingId":"l","spatialLayerId":0}"#) == 200)
            #expect(try await selected() == "l")
        }
    }

    @Test(
        "a selection that the stream cannot satisfy is answered by an error",
        arguments: [
            (#"{"rid":"x"}"#, 400), (#"{"rid":"l","encodingId":"h"}"#, 400), (#"{"mediaId":"1","rid":"l"}"#, 400),
            (#"{"rid":1}"#, 400), (#"{"spatialLayerId":1}"#, 422), (#"{"maxSpatialLayerId":-1}"#, 422),
            (#"{"temporalLayerId":0}"#, 422), (#"{"maxTemporalLayerId":1}"#, 422),
            // The dimensions of the layers are unknown before their first key frames.
            (#"{"maxWidth":640}"#, 422), (#"{"maxHeight":360,"rid":"l"}"#, 422), (#"{"maxWidth":640,"rid":"x"}"#, 400),
        ])
    func impossible(body: String, status: Int) async throws {
        try await run(layers: 3) { session async throws in
            #expect(try await session.select(body) == status)
        }
    }

    @Test(
        "maximum dimensions select the best layer that is not larger",
        arguments: [
            (1_920, 1_080, "h"), (1_280, 720, "h"), (1_279, 720, "m"), (640, nil, "m"), (nil, 200, "l"),
            (320, 180, "l"), (319, nil, nil),
        ] as [(Int?, Int?, String?)])
    func dimensions(width: Int?, height: Int?, name: String?) throws {
        let layers = [("h", 1_280, 720), ("m", 640, 360), ("l", 320, 180)].map { name, width, height in
            ViewedLayers.Layer(
                name: name, bitrate: nil, dimensions: Dimensions(width: width, height: height), isAvailable: true)
        }
        let choice = LayerChoice(maxWidth: width, maxHeight: height)
        if let name {
            #expect(try choice.layer(in: layers) == name)
        } else {
            #expect(throws: APIError.self) { try choice.layer(in: layers) }
        }
    }
}
