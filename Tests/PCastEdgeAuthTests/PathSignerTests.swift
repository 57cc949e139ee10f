import PCastCore
import PCastEdgeAuth
import Testing

@Suite("Signed paths") struct PathSignerTests {
    private static let start = WallTime(millisecondsSinceEpoch: 1_767_225_600_000)
    private static let signer = PathSigner(key: Array(0..<32))
    private static let hour = TimeSpan.seconds(3_600 as Int64)

    @Test("all viewers receive the same signature for twelve hours, and it is accepted for one window more")
    func windows() {
        let signer = Self.signer
        let signature = signer.signature(of: "stream-a", at: Self.start)
        #expect(signature == signer.signature(of: "stream-a", at: Self.start + Self.hour * 11))
        #expect(signature != signer.signature(of: "stream-a", at: Self.start + Self.hour * 12))
        for hours: Int64 in [0, 11, 12, 23] {
            #expect(signer.check(signature, of: "stream-a", at: Self.start + Self.hour * hours) == .valid)
        }
        #expect(signer.check(signature, of: "stream-a", at: Self.start + Self.hour * 24) == .expired)
        // A signature of a window that has not begun was not issued by this clock.
        #expect(signer.check(signature, of: "stream-a", at: Self.start - Self.hour) == .expired)
    }

    @Test("a signature of another stream or key, and a changed one, are invalid")
    func invalid() throws {
        let signer = Self.signer
        let signature = signer.signature(of: "stream-a", at: Self.start)
        #expect(signer.check(signature, of: "stream-b", at: Self.start) == .invalid)
        #expect(PathSigner(key: Array(1..<33)).check(signature, of: "stream-a", at: Self.start) == .invalid)
        let last = try #require(signature.last)
        let changed = signature.dropLast() + (last == "0" ? "1" : "0")
        for text in [
            String(changed), "", "-", "1-", "0" + signature, "+" + signature, signature + "0", signature.uppercased(),
            String(signature.dropLast(2)), signature.replacing("-", with: "--"), String(repeating: "1", count: 1_000),
        ] {
            #expect(signer.check(text, of: "stream-a", at: Self.start) == .invalid, "\(text)")
        }
    }
}
