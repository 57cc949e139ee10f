import PCastCore
import PCastEdgeAuth
import Testing

@testable import PCastPlatform

/// Changes of a running platform's configuration.
@Suite struct ReconfigurationTests {
    @Test("settings that can change are distinguished from those that need a restart") func changes() {
        let old = PlatformConfiguration(port: 1, applications: [TestPlatform.application])
        #expect(PlatformChanges(from: old, to: old).applied.isEmpty)
        var new = old
        new.port = 2
        new.rtcPort = 3
        new.storage.directory = "/elsewhere"
        new.storage.retention = .seconds(1)
        new.limits[.viewers] = 7
        new.applications = []
        let changes = PlatformChanges(from: old, to: new)
        #expect(changes.applied == [.application, .retention, .limit])
        #expect(changes.needRestart == [.listen, .rtcPort, .data])
    }

    @Test("applications and limits change while streams continue, and required restarts are reported each time")
    func applied() async throws {
        try await TestPlatform.run(host: "0.0.0.0", advertise: [.loopbackV4]) { platform in
            let (first, second) = (TestPlatform.application, TestPlatform.otherApplication)
            let token = try Tokens.make(first) { $0.forPublishingOnly() }
            let (stream, _) = try await platform.publish(token: token)
            var configuration = platform.configuration
            configuration.applications = [second]
            configuration.limits[.viewers] = 0
            configuration.rtcPort = 4711
            let changes = try await platform.platform.apply(configuration)
            #expect(changes.applied == [.application, .limit] && changes.needRestart == [.rtcPort])
            // Existing streams continue, but the application's tokens are no longer valid.
            #expect(try await platform.figure("pcast_streams") == 1)
            #expect(try await platform.post("/whip", try Offers.publisher(), token: token).status == 401)
            let viewing = try Tokens.make(first) { $0.forStreamingOnly() }
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer(), token: viewing).status == 401)
            configuration.applications = [first, second]
            let again = try await platform.platform.apply(configuration)
            #expect(again.applied == [.application] && again.needRestart == [.rtcPort])
            let full = try await platform.post("/whep/\(stream)", try Offers.viewer(), token: viewing)
            #expect(full.status == 503 && full.header("Retry-After") != nil)
            configuration.limits[.viewers] = 1
            _ = try await platform.platform.apply(configuration)
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer(), token: viewing).status == 201)
        }
    }

    @Test("a partly invalid configuration changes nothing") func broken() async throws {
        try await TestPlatform.run(tlsPort: 0) { platform in
            var configuration = platform.configuration
            configuration.limits[.streams] = 0
            configuration.tlsCertificate = "/nowhere/certificate.pem"
            configuration.tlsKey = "/nowhere/key.pem"
            let error = await #expect(throws: PlatformError.self) { try await platform.platform.apply(configuration) }
            #expect("\(try #require(error))".contains("/nowhere/certificate.pem"))
            configuration.tlsKey = nil
            await #expect(throws: PlatformError.self) { try await platform.platform.apply(configuration) }
            _ = try await platform.publish()
        }
    }
}
