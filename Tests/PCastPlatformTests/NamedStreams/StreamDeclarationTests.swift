import PCastCore
import Testing

@testable import PCastPlatform

/// The checks of declared streams.
@Suite("Declared streams")
struct StreamDeclarationTests {
    private static func declaration(
        _ name: String, _ change: (inout StreamDeclaration) -> Void = { _ in }
    ) -> StreamDeclaration {
        var declaration = StreamDeclaration(name: name)
        change(&declaration)
        return declaration
    }

    private static func mistake(_ declarations: [StreamDeclaration]) -> StreamDeclarations.Mistake? {
        do throws(StreamDeclarations.Mistake) {
            _ = try StreamDeclarations(declarations)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "names are letters, digits and a few signs, and are not those of the platform",
        arguments: [
            ("camera-1", true), ("A.b_c", true), ("1", true), ("", false), ("-a", false), (".a", false), ("a/b", false),
            ("ä", false), ("a b", false), ("stream-1", false), ("view-x", false), ("egress-", false),
            (String(repeating: "a", count: 64), true), (String(repeating: "a", count: 65), false),
        ])
    func names(name: String, isValid: Bool) {
        #expect((Self.mistake([Self.declaration(name)]) == nil) == isValid)
    }

    @Test("a mistake names the declaration and the key")
    func mistakes() {
        func key(_ change: (inout StreamDeclaration) -> Void) -> String? {
            Self.mistake([Self.declaration("a", change)])?.key
        }
        #expect(key { $0.source = "gopher://host" } == "source")
        #expect(key { $0.source = "rtsp://" } == "source")
        #expect(key { $0.source = "host" } == "source")
        #expect(key { $0.isOnDemand = true } == "onDemand")
        #expect(key { $0.closeAfter = .seconds(100_000) } == "closeAfter")
        #expect(key { $0.fallback = .file("") } == "fallback")
        #expect(key { $0.fallback = .stream("a") } == "fallback")
        #expect(key { $0.fallback = .stream("b") } == "fallback")
        #expect(key { $0.slate = "Zurück um 8 Uhr!" } == nil)
        #expect(key { $0.slate = "" } == nil)
        #expect(key { $0.slate = "до 10" } == "slate")
        #expect(key { $0.slate = "a\nb" } == "slate")
        #expect(key { $0.slate = String(repeating: "a", count: 201) } == "slate")
        #expect(key { $0.source = "whip://host/" } == "source")
        #expect(key { $0.source = "wheps://host/" } == nil)
        #expect(key { $0.forward = ["whep://host/"] } == "forward")
        #expect(key { $0.forward = ["whip://host/", "https://host/"] } == nil)
        #expect(key { $0.forward = Array(repeating: "srt://host:1", count: 9) } == "forward")
        #expect(key { $0.forward = Array(repeating: "srt://host:1", count: 8) } == nil)
        #expect(Self.mistake([Self.declaration("a-*") { $0.source = "srt://host:1" }])?.key == "source")
        #expect(Self.mistake([Self.declaration("a"), Self.declaration("a")])?.key == "name")
        #expect(Self.mistake([Self.declaration("a*"), Self.declaration("a*")])?.key == "name")
    }

    @Test("the reason of a mistake does not contain a password")
    func secrets() {
        let mistake = Self.mistake([Self.declaration("a") { $0.source = "ftp://user:secret@host" }])
        #expect(mistake?.reason.contains("secret") == false)
    }

    @Test("fallbacks that lead back to a stream are rejected")
    func loops() {
        let loop = [
            Self.declaration("a") { $0.fallback = .stream("b") }, Self.declaration("b") { $0.fallback = .stream("c") },
            Self.declaration("c") { $0.fallback = .stream("a") },
        ]
        #expect(Self.mistake(loop)?.reason.contains("a → b → c → a") == true)
        // The loop is not on the way from the first stream.
        #expect(Self.mistake([Self.declaration("x") { $0.fallback = .stream("a") }] + loop) != nil)
    }

    @Test("streams that replace each other have the same root")
    func roots() throws {
        let declarations = try StreamDeclarations([
            Self.declaration("a") { $0.fallback = .stream("b") }, Self.declaration("b") { $0.fallback = .stream("c") },
            Self.declaration("c"), Self.declaration("d"),
        ])
        #expect(["a", "b", "c", "d", "e"].map { declarations.root(of: $0) } == ["c", "c", "c", "d", "e"])
    }

    @Test("a declaration without a pattern precedes patterns, and of these the first one applies")
    func patterns() throws {
        let declarations = try StreamDeclarations([
            Self.declaration("cam-*") { $0.isRecorded = true }, Self.declaration("cam-1"),
            Self.declaration("*") { $0.hasStandby = true },
        ])
        #expect(declarations.declaration(of: "cam-1")?.isRecorded == false)
        #expect(declarations.declaration(of: "cam-2")?.isRecorded == true)
        #expect(declarations.declaration(of: "cam-2")?.name == "cam-2")
        #expect(declarations.declaration(of: "other")?.hasStandby == true)
        #expect(declarations.declaration(of: "not/a/name") == nil)
        #expect(declarations["cam-2"] == nil)
    }

    @Test(
        "a star stands for any characters",
        arguments: [
            ("a*", "a", true), ("a*", "abc", true), ("*a", "bca", true), ("a*c", "abbc", true), ("a*c", "abcd", false),
            ("*b*b*", "abcb", true), ("*b*b*", "ab", false), ("**", "x", true), ("a", "ab", false),
        ])
    func stars(pattern: String, name: String, matches: Bool) {
        #expect(Self.declaration(pattern).matches(name) == matches)
    }
}
