import Foundation
import Glibc
import PCastCore
import PCastEdgeAuth
import PCastIO
import Testing

@testable import PCastPlatform

/// Swift compares characters by canonical equivalence (Unicode, section 3.12), and a combining character joins the one
/// before it. Kernels, libraries and other programs read bytes, so decisions about access do too.
@Suite("Names and secrets that decide about access are compared by bytes") struct ByteComparisonTests {
    private static let composed = "caf\u{E9}"
    private static let decomposed = "cafe\u{301}"

    /// A folder with a subfolder `café`, and beside it one whose name differs in its bytes only.
    private static func folders() throws -> (root: String, inside: String, outside: String) {
        let root = NSTemporaryDirectory() + "pcast-bytes-\(UUID().uuidString)"
        let (inside, outside) = ("\(root)/\(composed)", "\(root)/\(decomposed)")
        for folder in [inside, outside] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data("film".utf8).write(to: URL(fileURLWithPath: folder + "/film.mp4"))
        }
        try #require(realpath(inside) != nil && realpath(inside)?.utf8.elementsEqual(realpath(outside)!.utf8) == false)
        symlink("\(outside)/film.mp4", "\(inside)/away.mp4")
        symlink(outside, "\(inside)/away")
        symlink(inside, "\(root)/in")
        return (root, inside, outside)
    }

    private static func realpath(_ path: String) -> String? {
        guard let real = Glibc.realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    @Test("a job reads and writes files in its folder only, not in one with an equivalent name")
    func jobFiles() async throws {
        let (root, inside, _) = try Self.folders()
        defer { try? FileManager.default.removeItem(atPath: root) }
        let configuration = JobConfiguration(program: "/bin/false", arguments: [], directory: inside)
        let policy = JobPolicy(configuration: configuration, listen: .loopbackV4)
        func isAdmitted(_ path: String, _ kind: IngestJob.Kind) async -> Bool {
            (try? await policy.admit("file://\(root)/\(path)", for: kind)) != nil
        }
        #expect(await isAdmitted("in/film.mp4", .publish))
        #expect(await isAdmitted("in/new.mp4", .egress))
        for path in ["in/away.mp4", "in/away/film.mp4", "in/../in/away/film.mp4", "in/none.mp4", "in/../film.mp4"] {
            #expect(!(await isAdmitted(path, .publish)), "\(path)")
        }
        for path in ["in/away/new.mp4", "in/../new.mp4", "new.mp4"] {
            #expect(!(await isAdmitted(path, .egress)), "\(path)")
        }
    }

    @Test("the tags of a publisher are those that its token applies, combining characters included")
    func appliedTags() throws {
        func principal(_ tags: [String]) throws -> Principal {
            let encoded = try Tokens.make { builder in
                tags.reduce(builder.forPublishingOnly()) { $0.applyTag($1) }
            }
            let verification = DigestTokens.verifyAndDecode(secret: TestPlatform.application.secret, encoded: encoded)
            let token: EdgeToken = try #require(verification.token)
            return Principal(
                application: TestPlatform.application.id, token: token,
                fingerprint: DigestTokens.fingerprint(of: encoded))
        }
        for tags in [["\u{301}other", "user:7"], ["user:7", "\u{200D}"], ["a"]] {
            let publisher = try #require(try principal(tags).publisher)
            #expect(Principal.appliedTags(of: publisher) == Set(tags))
            #expect(try principal(tags.reversed()).publisher == publisher)
        }
        // Without tags, the token itself is the owner, and it applied none.
        let (first, second) = (try principal([]), try principal([]))
        #expect(Principal.appliedTags(of: try #require(first.publisher)) == nil)
        #expect((first.publisher == second.publisher) == (first.fingerprint == second.fingerprint))
        let local = Principal(application: TestPlatform.application.id, token: nil)
        #expect(Principal.appliedTags(of: try #require(local.publisher)) == nil)
    }

    @Test("the secret of HTTP Basic is the text after the first colon, and equal in every byte")
    func basic() async throws {
        #expect(ApplicationRequest.basic("Basic \(Base64.encode(Array("first:\u{301}x:y".utf8)))")?.id == "first")
        let combining = PlatformConfiguration.Application(id: ApplicationID("first"), secret: "\u{301}secret")
        let accented = PlatformConfiguration.Application(id: ApplicationID("second"), secret: Self.composed)
        try await TestPlatform.run(applications: [combining, accented]) { (platform) async throws in
            func status(_ id: String, _ secret: String) async throws -> Int {
                let basic = "Basic \(Base64.encode(Array("\(id):\(secret)".utf8)))"
                return try await platform.send("GET", "/pcast/streams", ["Authorization": basic]).status
            }
            #expect(try await status("first", "\u{301}secret") == 200)
            #expect(try await status("second", Self.composed) == 200)
            #expect(try await status("first", "secret") == 401)
            #expect(try await status("second", Self.decomposed) == 401)
        }
    }

    @Test("equivalent spellings of an application's name share the limit of guesses")
    func guesses() async throws {
        let application = PlatformConfiguration.Application(id: ApplicationID(Self.composed), secret: "sesame")
        try await TestPlatform.run(applications: [application]) { (platform) async throws in
            func status(_ id: String, _ secret: String) async throws -> Int {
                let basic = "Basic \(Base64.encode(Array("\(id):\(secret)".utf8)))"
                return try await platform.send("GET", "/pcast/streams", ["Authorization": basic]).status
            }
            for number in 0..<10 {
                #expect(
                    try await status(number.isMultiple(of: 2) ? Self.composed : Self.decomposed, "\(number)") == 401)
            }
            // A further attempt is due every six seconds, which another guess uses.
            for spelling in [Self.composed, Self.decomposed] {
                #expect(
                    try await eventually {
                        while try await status(spelling, "wrong") == 401 {}
                        return try await status(Self.composed, "sesame") == 429
                    })
            }
        }
    }
}
