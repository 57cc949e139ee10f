import Testing

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
