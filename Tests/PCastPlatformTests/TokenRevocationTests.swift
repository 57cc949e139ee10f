import Foundation
import PCastCluster
import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastIO
import Testing

@testable import PCastPlatform

@Suite("Revoked tokens")
struct TokenRevocationTests {
    private static func publishingToken(secret: String = "sesame", lifetime: Int64 = 3_600) throws -> String {
        try EdgeTokenBuilder().withApplicationId("first").withSecret(secret)
            .expiresIn(.seconds(lifetime), from: MonotonicClock.wallTime()).forPublishingOnly().build()
    }

    private static func revoke(_ token: String, at platform: TestPlatform) async throws -> Int {
        try await platform.ask("POST", "/pcast/token/revocation", #"{"token":"\#(token)"}"#).status
    }

    private static func publish(_ token: String, at platform: TestPlatform) async throws -> Int {
        try await platform.post("/whip", try Offers.publisher(), token: token).status
    }

    @Test("a revoked token is rejected and its streams end, and others of the application are not affected")
    func revoked() async throws {
        try await TestPlatform.run { platform in
            let token = try Self.publishingToken()
            // The lifetime is part of a token, so the tokens differ.
            let other = try Self.publishingToken(lifetime: 7_200)
            #expect(try await Self.publish(token, at: platform) == 201)
            #expect(try await Self.publish(other, at: platform) == 201)
            #expect(await platform.platform.streams().count == 2)
            #expect(try await Self.revoke(token, at: platform) == 200)
            #expect(try await eventually { await platform.platform.streams().count == 1 })
            #expect(try await Self.publish(token, at: platform) == 401)
            #expect(try await Self.revoke(token, at: platform) == 200)
            #expect(try await Self.publish(other, at: platform) == 201)
            #expect(await platform.platform.streams().count == 2)
        }
    }

    @Test("the session of a revoked token is closed")
    func session() async throws {
        try await TestPlatform.run { platform in
            let token = try Self.publishingToken()
            try await ProtocolClient.run(platform) { client async throws in
                #expect(try await client.authenticate(token) != nil)
                #expect(try await Self.revoke(token, at: platform) == 200)
                #expect(try await eventually { await client.isClosed })
            }
            try await ProtocolClient.run(platform) { client async throws in
                #expect(try await client.authenticate(token) == nil)
                #expect(try await client.authenticate(try Self.publishingToken(lifetime: 7_200)) != nil)
            }
        }
    }

    @Test("revocations persist over a restart")
    func restart() async throws {
        try await withTemporaryDirectory { directory in
            let keeping = StorageConfiguration(directory: directory)
            let token = try Self.publishingToken()
            try await TestPlatform.run(records: keeping) { platform async throws in
                #expect(try await Self.publish(token, at: platform) == 201)
                #expect(try await Self.revoke(token, at: platform) == 200)
            }
            try await TestPlatform.run(records: keeping) { platform async throws in
                #expect(try await Self.publish(token, at: platform) == 401)
                #expect(try await Self.publish(try Self.publishingToken(lifetime: 7_200), at: platform) == 201)
            }
        }
    }

    @Test("stored revocations have the latest expiration, and those of expired tokens are removed")
    func stored() async throws {
        let records = try Records.inMemory()
        let now = WallTime(millisecondsSinceEpoch: 1_000_000)
        try await records.addTokenRevocation("a", until: now + .seconds(10), at: now)
        try await records.addTokenRevocation("b", until: now + .seconds(20), at: now)
        try await records.addTokenRevocation("b", until: now + .seconds(15), at: now)
        #expect(try await records.tokenRevocations(at: now).keys.sorted() == ["a", "b"])
        #expect(try await records.tokenRevocations(at: now + .seconds(10)) == ["b": now + .seconds(20)])
        try await records.addTokenRevocation("c", until: now + .seconds(30), at: now + .seconds(20))
        #expect(try await records.tokenRevocations(at: now).keys.sorted() == ["c"])
    }

    @Test("a JSON Web Token is revoked by its identifier, and a request names either it or a token")
    func identifier() async throws {
        try await TestPlatform.run { platform async throws in
            let revoke = { (body: String) in
                try await platform.ask("POST", "/pcast/token/revocation", body).status
            }
            #expect(try await revoke(#"{"jti":"one"}"#) == 200)
            #expect(try await revoke(#"{"jti":"two","expiresIn":60}"#) == 200)
            for body in [
                "{}", #"{"jti":""}"#, #"{"jti":"three","expiresIn":0}"#, #"{"jti":"three","token":"three"}"#,
            ] { #expect(try await revoke(body) == 400, "\(body)") }
        }
    }

    @Test("a revoked token is rejected in another encoding, too")
    func encodings() async throws {
        try await TestPlatform.run { platform in
            let token = try Self.publishingToken()
            let envelope = try #require(Base64.decode(Array(token.utf8.dropFirst("DIGEST:".utf8.count))))
            // The white space around the signed text is not signed.
            let other = "DIGEST:" + Base64.encode(Array(" ".utf8) + envelope)
            #expect(try await Self.publish(other, at: platform) == 201)
            #expect(try await Self.revoke(token, at: platform) == 200)
            #expect(try await Self.publish(other, at: platform) == 401)
        }
    }

    @Test("only tokens of the application can be revoked")
    func foreign() async throws {
        try await TestPlatform.run { platform in
            let token = try Self.publishingToken(secret: "another secret")
            #expect(try await Self.revoke(token, at: platform) == 404)
            #expect(try await Self.revoke("no token", at: platform) == 404)
            let body = #"{"token":"\#(try Self.publishingToken())"}"#
            let answer = try await platform.send(
                "POST", "/pcast/token/revocation", ["Content-Type": "application/json"], body: body)
            #expect(answer.status == 401)
        }
    }

    @Test("a token that is revoked at one node is rejected at the others")
    func clustered() async throws {
        let store = MemoryDirectoryStore()
        let configure = { (name: String, configuration: inout PlatformConfiguration) in
            configuration.cluster = ClusterConfiguration(servers: [], node: name, secret: "a secret of the cluster")
            configuration.clusterDirectory = store.attach()
        }
        try await TestPlatform.runConfigured(configure: { configure("a", &$0) }) { first in
            try await TestPlatform.runConfigured(configure: { configure("b", &$0) }) { second in
                let token = try Self.publishingToken()
                #expect(try await Self.publish(token, at: second) == 201)
                #expect(try await Self.revoke(token, at: first) == 200)
                #expect(try await Self.publish(token, at: first) == 401)
                #expect(try await eventually { try await Self.publish(token, at: second) == 401 })
                // The stream that began with the token ends at the other node.
                #expect(try await eventually { await second.platform.streams().isEmpty })
            }
        }
    }

    @Test("a revocation ends when its token has expired")
    func expiry() {
        let revocations = TokenRevocations()
        #expect(revocations.revoke("a", for: .seconds(3_600 as Int64)))
        #expect(revocations.revoke("b", for: .nanoseconds(-1)))
        #expect(revocations.contains("a") && !revocations.contains("b") && !revocations.contains("c"))
    }

    @Test("the number of revocations has a bound, and expired ones are removed")
    func bound() {
        let revocations = TokenRevocations()
        for number in 0..<TokenRevocations.capacity - 1 {
            _ = revocations.revoke("\(number)", for: .seconds(3_600 as Int64))
        }
        #expect(revocations.revoke("expired", for: .nanoseconds(-1)))
        #expect(revocations.revoke("last", for: .seconds(3_600 as Int64)))
        #expect(!revocations.revoke("too many", for: .seconds(3_600 as Int64)))
        #expect(revocations.revoke("last", for: .seconds(3_600 as Int64)))
        #expect(!revocations.contains("too many") && revocations.contains("0"))
    }
}
