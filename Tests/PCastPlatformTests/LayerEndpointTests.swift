import Foundation
import PCastWebRTC
import Testing

/// WHEP's extension for layers, at the address in the answer's Link header.
@Suite struct LayerEndpointTests {
    private struct Listing: Decodable {
        struct Layer: Decodable { let encodingId: String }
        let mediaId: String
        let layers: [Layer]
        let selected: String?
        let reason: String
    }

    private func listing(_ answer: TestPlatform.Response) throws -> Listing {
        try JSONDecoder().decode(Listing.self, from: Data(answer.body.utf8))
    }

    @Test("a viewer receives three layers, selects one, and removes the selection") func choice() async throws {
        try await TestPlatform.run { platform in
            let published = try await platform.post("/whip", try Offers.publisher(layers: 3))
            #expect(try SessionDescription(parsing: published.body).media[0].simulcast?.receive.count == 3)
            let viewer = try await platform.post("/whep", try Offers.viewer())
            #expect(viewer.status == 201)
            let link = try #require(viewer.header("Link"))
            #expect(link.hasSuffix("; rel=\"urn:ietf:params:whep:ext:core:layer\""))
            let address = try #require(viewer.header("Location")) + "/layer"
            #expect(link.hasPrefix("<\(address)>"))

            let before = try listing(try await platform.send("GET", address))
            #expect(Set(before.layers.map(\.encodingId)) == ["l", "m", "h"] && before.layers.count == 3)
            #expect(before.mediaId == "0" && before.selected == nil)
            let type = ["Content-Type": "application/json"]
            let body = #"{"mediaId":"0","encodingId":"l"}"#
            #expect(try await platform.send("POST", address, type, body: body).status == 200)
            let chosen = try listing(try await platform.send("GET", address))
            #expect(chosen.selected == "l")
            #expect(try await platform.send("DELETE", address).status == 200)
            #expect(try listing(try await platform.send("GET", address)).selected == nil)
        }
    }

    @Test("an unknown layer or another section answers 400, and an unknown session 404")
    func refusals() async throws {
        try await TestPlatform.run { platform in
            _ = try await platform.publish()
            let viewer = try await platform.post("/whep", try Offers.viewer())
            let address = try #require(viewer.header("Location")) + "/layer"
            for body in [#"{"mediaId":"0","encodingId":"x"}"#, #"{"mediaId":"1","encodingId":"0"}"#, "nonsense"] {
                #expect(try await platform.send("POST", address, [:], body: body).status == 400)
            }
            #expect(try await platform.send("POST", address, [:], body: #"{"encodingId":"0"}"#).status == 200)
            #expect(try await platform.send("GET", "/whep/resource/none/layer").status == 404)
            #expect(try await platform.send("OPTIONS", address).status == 204)
        }
    }
}

/// The capture clock of a viewer's video, below its resource.
@Suite struct ClockEndpointTests {
    @Test("Before the first packet there is no clock, and a session that is unknown is 404")
    func refusals() async throws {
        try await TestPlatform.run { platform in
            _ = try await platform.publish()
            let viewer = try await platform.post("/whep", try Offers.viewer())
            let address = try #require(viewer.header("Location")) + "/clock"
            let answer = try await platform.send("GET", address)
            #expect(answer.status == 204 && answer.header("Cache-Control") == "no-store")
            #expect(try await platform.send("POST", address).status == 405)
            #expect(try await platform.send("GET", "/whep/resource/none/clock").status == 404)
        }
    }
}
