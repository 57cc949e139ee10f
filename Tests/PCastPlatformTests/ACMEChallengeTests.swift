import Foundation
import PCastPlatform
import Testing

/// The files by which a client of ACME proves the control of a domain name, and the certificate before its first one.
@Suite struct ACMEChallengeTests {
    /// A webroot with a challenge, and files that must not be served.
    private struct Webroot {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)")
        static let token = "LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0"
        static let authorization = "\(token).9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI"

        var challenges: URL { folder.appendingPathComponent("webroot/.well-known/acme-challenge") }
        var path: String { folder.appendingPathComponent("webroot").path }

        init() throws {
            try FileManager.default.createDirectory(at: challenges, withIntermediateDirectories: true)
            try write(Self.authorization, "webroot/.well-known/acme-challenge/\(Self.token)")
            try write("secret", "secret")
            try write("secret", "webroot/secret")
            try write("secret", "webroot/.well-known/secret")
            try write("secret", "webroot/.well-known/acme-challenge/.hidden")
            try write("", "webroot/.well-known/acme-challenge/empty")
            try write(String(repeating: "x", count: 4_097), "webroot/.well-known/acme-challenge/large")
            try FileManager.default.createDirectory(
                at: challenges.appendingPathComponent("folder"), withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                at: challenges.appendingPathComponent("link"),
                withDestinationURL: folder.appendingPathComponent("secret"))
            mkfifo(challenges.appendingPathComponent("pipe").path, 0o600)
        }

        private func write(_ text: String, _ name: String) throws {
            try text.write(to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
        }

        func remove() { try? FileManager.default.removeItem(at: folder) }
    }

    private static let place = "/.well-known/acme-challenge"

    @Test("a challenge is served without a token, by GET and HEAD only") func served() async throws {
        let webroot = try Webroot()
        defer { webroot.remove() }
        try await TestPlatform.runConfigured(configure: { $0.acmeWebroot = webroot.path }) { platform in
            let address = "\(Self.place)/\(Webroot.token)"
            let answer = try await platform.send("GET", address)
            #expect(answer.status == 200 && answer.body == Webroot.authorization)
            #expect(answer.header("Content-Type") == "application/octet-stream")
            #expect(answer.header("X-Content-Type-Options") == "nosniff")
            #expect(answer.header("Cache-Control") == "no-store")
            let head = try await platform.send("HEAD", address)
            #expect(head.status == 200 && head.body.isEmpty)
            for method in ["POST", "PUT", "DELETE", "PATCH"] {
                #expect(try await platform.send(method, address, body: "x").status >= 400, "\(method)")
            }
            // The file may disappear at any time.
            try FileManager.default.removeItem(at: webroot.challenges.appendingPathComponent(Webroot.token))
            #expect(try await platform.send("GET", address).status == 404)
        }
    }

    @Test(
        "nothing else can be read",
        arguments: [
            "", "/", "/.hidden", "/..", "/../secret", "/%2e%2e/secret", "/..%2fsecret", "/%2e%2e%2fsecret",
            "/..%2f..%2f..%2fsecret", "/folder", "/folder/", "/link", "/pipe", "/large", "/none", "/%00", "/a%00b",
            "/LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0%00", "/LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0%2f",
            "//etc/passwd", "/%2fetc%2fpasswd", "/é",
        ])
    func refused(_ path: String) async throws {
        let webroot = try Webroot()
        defer { webroot.remove() }
        try await TestPlatform.runConfigured(configure: { $0.acmeWebroot = webroot.path }) { platform in
            // The client must not normalize the path.
            let request = try await RawRequest(
                platform, lines: ["GET \(Self.place)\(path) HTTP/1.1", "Host: 127.0.0.1", "Connection: close"])
            let statuses = try await request.statuses(1)
            #expect(statuses.count == 1 && [400, 404].contains(statuses.first), "\(statuses)")
            #expect(!request.text.contains("secret"))
            try? await request.close()
        }
    }

    @Test("without a webroot there is no such address") func off() async throws {
        try await TestPlatform.run { platform async throws in
            #expect(try await platform.send("GET", "\(Self.place)/\(Webroot.token)").status == 404)
        }
    }

    @Test(
        "while the certificate's files do not exist, a self-signed one takes their place, until they are written",
        .timeLimit(.minutes(5)))
    func first() async throws {
        let webroot = try Webroot()
        defer { webroot.remove() }
        let pair = try CertificateTests.Pair()
        defer { pair.remove() }
        let certificate = webroot.folder.appendingPathComponent("certificate.pem")
        let key = webroot.folder.appendingPathComponent("key.pem")
        let configure: (inout PlatformConfiguration) -> Void = {
            ($0.tlsCertificate, $0.tlsKey, $0.acmeWebroot) = (certificate.path, key.path, webroot.path)
        }
        try await TestPlatform.runConfigured(tlsPort: 0, configure: configure) { platform in
            let port = try #require(platform.listening.tlsPort)
            let before = try await TLSConnection(port: port)
            #expect(before.certificate != pair.certificate)
            await before.close()
            // A reload before certbot has run is no error.
            _ = try await platform.platform.apply(platform.configuration)
            for (from, to) in [(pair.keyPath, key), (pair.certificatePath, certificate)] {
                try FileManager.default.moveItem(at: URL(fileURLWithPath: from), to: to)
            }
            _ = try await platform.platform.apply(platform.configuration)
            let after = try await TLSConnection(port: port)
            #expect(after.certificate == pair.certificate)
            await after.close()
        }
    }
}
