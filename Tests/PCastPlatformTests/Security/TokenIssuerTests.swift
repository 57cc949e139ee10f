import Crypto
import Foundation
import Logging
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastJWT
import Synchronization
import Testing

@testable import PCastPlatform

/// The keys of an issuer of JSON Web Tokens, on virtual time, and the endpoints that accept its tokens.
@Suite struct TokenIssuerTests {
    /// A server of a key set in memory.
    private final class KeyServer: Sendable {
        private let state = Mutex<(set: String?, requests: Int)>((nil, 0))

        init(_ signers: [Signer]) { serve(signers) }

        var requests: Int { state.withLock { $0.requests } }

        func serve(_ signers: [Signer]) { state.withLock { $0.set = Signer.set(signers) } }

        /// Lets requests fail from now on.
        func fail() { state.withLock { $0.set = nil } }

        func bytes() throws -> [UInt8] {
            let set = state.withLock { state in
                state.requests += 1
                return state.set
            }
            guard let set else { throw PlatformError.keySet("no answer") }
            return Array(set.utf8)
        }
    }

    /// A key of an issuer.
    struct Signer: Sendable {
        let id: String
        private let key = Curve25519.Signing.PrivateKey()

        init(_ id: String) { self.id = id }

        /// Returns a token that is valid for ten minutes, with a claim `pcast`.
        func token(_ grants: String, audience: String = "pcast", id: String? = nil) throws -> String {
            let expires = MonotonicClock.wallTime().millisecondsSinceEpoch / 1_000 + 600
            let identifier = id.map { #""jti":"\#($0)","# } ?? ""
            let claims =
                #"{\#(identifier)"iss":"https://login.example","aud":"\#(audience)","exp":\#(expires),"#
                + #""pcast":\#(grants)}"#
            let parts = [#"{"alg":"EdDSA","kid":"\#(self.id)"}"#, claims].map { Self.encode(Array($0.utf8)) }
            let signed = parts.joined(separator: ".")
            return "\(signed).\(Self.encode(Array(try key.signature(for: Array(signed.utf8)))))"
        }

        static func set(_ signers: [Signer]) -> String {
            let keys = signers.map { signer in
                let x = encode(Array(signer.key.publicKey.rawRepresentation))
                return #"{"kty":"OKP","crv":"Ed25519","kid":"\#(signer.id)","x":"\#(x)"}"#
            }
            return #"{"keys":[\#(keys.joined(separator: ","))]}"#
        }

        private static func encode(_ bytes: [UInt8]) -> String {
            Base64.encode(bytes).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        }
    }

    private static let configuration = TokenIssuerConfiguration(
        keys: "https://login.example/jwks.json", issuer: "https://login.example", audience: "pcast")
    private static let publishing = #"{"applicationId":"first","type":"publish","applyTags":["red"]}"#

    private func issuer(_ server: KeyServer) -> TokenIssuer {
        TokenIssuer(Self.configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }) { _ in
            try server.bytes()
        }
    }

    private func time(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    private func error(_ token: String, _ issuer: TokenIssuer, at now: Instant) -> JSONWebTokenError? {
        do throws(JSONWebTokenError) {
            _ = try issuer.grants(of: token, at: now, wallTime: MonotonicClock.wallTime())
            return nil
        } catch {
            return error
        }
    }

    @Test("a token of a new key is accepted after its keys were requested, at most every ten seconds")
    func rotation() async throws {
        let (first, second) = (Signer("one"), Signer("two"))
        let server = KeyServer([first])
        let issuer = issuer(server)
        let (old, new) = (try first.token(Self.publishing), try second.token(Self.publishing))
        #expect(error(old, issuer, at: time(0)) == .unknownKey)
        await issuer.refresh(for: old, at: time(0))
        #expect(error(old, issuer, at: time(0)) == nil && server.requests == 1)
        // A known key needs no request, and neither does text that is not a token.
        for text in [old, "DIGEST:e30=", "key", nil] { await issuer.refresh(for: text, at: time(100)) }
        #expect(server.requests == 1)
        server.serve([second])
        await issuer.refresh(for: new, at: time(9))
        #expect(error(new, issuer, at: time(9)) == .unknownKey && server.requests == 1)
        await issuer.refresh(for: new, at: time(10))
        #expect(error(new, issuer, at: time(10)) == nil && server.requests == 2)
        #expect(error(old, issuer, at: time(10)) == .unknownKey)
        // Clients with random keys cause no more requests.
        for _ in 0..<50 { await issuer.refresh(for: old, at: time(19)) }
        #expect(server.requests == 2)
    }

    @Test("the last keys are used for a day if the issuer cannot be reached, or sends no key set")
    func outage() async throws {
        let signer = Signer("one")
        let server = KeyServer([signer])
        let issuer = issuer(server)
        let token = try signer.token(Self.publishing)
        await issuer.refresh(for: token, at: time(0))
        server.fail()
        let unknown = try Signer("other").token(Self.publishing)
        await issuer.refresh(for: unknown, at: time(60))
        server.serve([])
        await issuer.refresh(for: unknown, at: time(120))
        #expect(server.requests == 3)
        #expect(error(token, issuer, at: time(24 * 3_600)) == nil)
        #expect(error(token, issuer, at: time(24 * 3_600 + 1)) == .unknownKey)
    }

    @Test("a token is revoked by its identifier, for clients and for administration, and cannot be without one")
    func revocation() async throws {
        let signer = Signer("one")
        let authenticator = TokenAuthenticator(
            [TestPlatform.application, TestPlatform.otherApplication], allowsAnonymousLoopback: false,
            issuer: issuer(KeyServer([signer])))
        let client = ClientContext(connectionFrom: .loopbackV4, isTrustedProxy: false)
        let application = ApplicationID("first")
        let revoked = try signer.token(Self.publishing, id: "a")
        let administering = try signer.token(#"{"applicationId":"first","role":"view"}"#, id: "a")
        let other = try signer.token(Self.publishing, id: "b")
        let unnamed = try signer.token(Self.publishing)
        let principal = try await authenticator.identifyClient(revoked, from: client)
        #expect(try await authenticator.administrator(administering).application == application)
        let found = try #require(await authenticator.revocable(revoked, of: application))
        #expect(found.key == principal.revocationKey && found.lifetime > .zero)
        #expect(found.key == TokenRevocations.key(ofJSONWebToken: "a", application))
        #expect(await authenticator.revocable(revoked, of: ApplicationID("second"))?.key == nil)
        #expect(await authenticator.revocable(unnamed, of: application)?.key == nil)
        #expect(authenticator.revocations.revoke(found.key, for: found.lifetime))
        await #expect(throws: APIError.self) { try await authenticator.identifyClient(revoked, from: client) }
        await #expect(throws: APIError.self) { try await authenticator.administrator(administering) }
        for token in [other, unnamed] { _ = try await authenticator.identifyClient(token, from: client) }
        // A revoked token may be revoked once more.
        #expect(await authenticator.revocable(revoked, of: application)?.key == found.key)
    }

    @Test("a token becomes the principal of its application, with its restrictions") func principals() async throws {
        let signer = Signer("one")
        let server = KeyServer([signer])
        let authenticator = TokenAuthenticator(
            [TestPlatform.application, TestPlatform.otherApplication], allowsAnonymousLoopback: false,
            issuer: issuer(server))
        let client = ClientContext(connectionFrom: .loopbackV4, isTrustedProxy: false)
        let token = try signer.token(Self.publishing)
        let principal = try await authenticator.identifyClient(token, from: client)
        #expect(principal.application == ApplicationID("first") && principal.tags == ["red"])
        try authenticator.authorize(principal, for: .publish, clientContext: client)
        let viewing = TokenRequest.Purpose.subscribe(originStreamID: "s", tags: [])
        #expect(throws: APIError.self) { try authenticator.authorize(principal, for: viewing, clientContext: client) }
        #expect(authenticator.hasForm(of: token) && !authenticator.hasForm(of: "key"))
        let refused = [
            try signer.token(#"{"applicationId":"third","type":"publish"}"#), try signer.token(#"{"type":"publish"}"#),
            try signer.token(#"{"applicationId":"first","role":"administer"}"#),
            try signer.token(Self.publishing, audience: "other"), try Signer("one").token(Self.publishing),
        ]
        for token in refused {
            await #expect(throws: APIError.self) {
                _ = try await authenticator.identifyClient(token, from: client)
            }
        }
        // Tokens of EdgeAuth stay valid, and without an issuer no other ones are.
        _ = try await authenticator.identifyClient(try Tokens.publishing(), from: client)
        let plain = TokenAuthenticator([TestPlatform.application], allowsAnonymousLoopback: false)
        await #expect(throws: APIError.self) {
            _ = try await plain.identifyClient(token, from: client)
        }
        #expect(!plain.hasForm(of: token))
    }

    @Test("an endpoint accepts tokens of the issuer, and the management API checks their roles")
    func endpoints() async throws {
        let signer = Signer("one")
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("jwks-\(UUID().uuidString).json")
        try Signer.set([signer]).write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let configure: (inout PlatformConfiguration) -> Void = {
            $0.tokenIssuer = TokenIssuerConfiguration(
                keys: file.path, issuer: "https://login.example", audience: "pcast")
        }
        try await TestPlatform.runConfigured(configure: configure) { platform in
            let (stream, _) = try await platform.publish(token: try signer.token(Self.publishing))
            let forged = try Signer("one").token(Self.publishing)
            #expect(try await platform.post("/whip", try Offers.publisher(), token: forged).status == 401)
            let viewer = try signer.token(#"{"applicationId":"first","type":"stream"}"#)
            #expect(try await platform.post("/whep", try Offers.viewer(), token: viewer).status == 201)
            let ask = { (role: String, method: String, path: String, body: String?) in
                let token = try signer.token(#"{"applicationId":"first","role":"\#(role)"}"#)
                return try await platform.send(method, path, ["Authorization": "Bearer \(token)"], body: body).status
            }
            #expect(try await ask("view", "GET", "/pcast/streams", nil) == 200)
            #expect(try await ask("root", "GET", "/pcast/streams", nil) == 401)
            let ending = #"{"streamId":"\#(stream)"}"#
            #expect(try await ask("view", "DELETE", "/pcast/stream", ending) == 403)
            #expect(try await ask("operate", "PUT", "/pcast/key/camera", "{}") == 403)
            #expect(try await ask("view", "GET", "/pcast/keys", nil) == 200)
            #expect(try await ask("operate", "GET", "/pcast/key/camera", nil) == 403)
            #expect(try await ask("administer", "GET", "/pcast/key/camera", nil) == 404)
            #expect(try await ask("operate", "GET", "/pcast/application/first/callback", nil) == 403)
            #expect(try await ask("administer", "GET", "/pcast/application/first/callback", nil) == 200)
            #expect(try await ask("administer", "GET", "/pcast/application/second/callback", nil) == 404)
            #expect(try await ask("operate", "DELETE", "/pcast/stream", ending) == 200)
            // A token for media administers nothing.
            let headers = ["Authorization": "Bearer \(viewer)"]
            #expect(try await platform.send("GET", "/pcast/streams", headers).status == 401)
        }
    }

    @Test("redirections of the key set's server are followed from https to https only") func redirections() throws {
        let uri = "https://login.example/jwks"
        for (location, target) in [
            ("/keys.json", "https://login.example/keys.json"), ("https://b.example/k", "https://b.example/k"),
            ("//b.example/k?v=2", "https://b.example/k?v=2"),
        ] {
            #expect(try TokenIssuer.redirection(to: location, from: uri) == target)
        }
        for location in [
            "http://login.example/jwks", "HTTP://login.example/jwks", "ftp://login.example/jwks", "wss://b.example/k",
            "file:///etc/keys.json", "https://",
        ] {
            #expect(throws: (any Error).self, "\(location)") {
                try TokenIssuer.redirection(to: location, from: uri)
            }
        }
        // A server of this host may be requested with http, and must not redirect.
        for location in ["/keys", "http://127.0.0.1:81/k", "https://login.example/jwks"] {
            #expect(throws: (any Error).self, "\(location)") {
                try TokenIssuer.redirection(to: location, from: "http://127.0.0.1:80/jwks")
            }
        }
    }

    @Test("a configuration that cannot be used has a reason") func configurations() async throws {
        let make = { (keys: String) in TokenIssuerConfiguration(keys: keys, issuer: "a", audience: "b") }
        for keys in [
            "https://login.example/keys", "http://127.0.0.1:8080/keys", "http://localhost/k", "/etc/keys.json",
        ] {
            #expect(make(keys).problem == nil, "\(keys)")
        }
        for keys in ["", "http://login.example/keys", "ftp://login.example/keys", "https://", "wss://login.example/k"] {
            #expect(make(keys).problem != nil, "\(keys)")
        }
        #expect(TokenIssuerConfiguration(keys: "/etc/keys.json", issuer: "", audience: "b").problem != nil)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        await #expect(throws: PlatformError.self) { try await TokenIssuer(make("/nonexistent"), logger: logger).open() }
    }
}
