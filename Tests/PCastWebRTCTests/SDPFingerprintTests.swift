import PCastCore
import PCastWebRTC
import Testing

/// Fingerprints that authenticate a certificate, and those that cannot (RFC 8122, section 5).
@Suite("Fingerprints in session descriptions")
struct SDPFingerprintTests {
    private static func hash(_ name: String, _ count: Int) -> String {
        name + " " + (0..<count).map { _ in "0F" }.joined(separator: ":")
    }

    @Test(
        "a hash that is unsupported or has the wrong length is rejected before an answer",
        arguments: [
            hash("sha-1", 20), hash("md5", 16), hash("md2", 16), hash("sha-224", 28), hash("sha-999", 32),
            hash("sha-256", 31), hash("sha-256", 33), hash("sha-256", 20), hash("sha-384", 32), hash("sha-512", 63),
            hash("sha-512", 80), "sha-256", "sha-256 xy:zz", "sha-256 0F0F", "sha-256 " + "0F:", "",
        ])
    func unusable(fingerprint: String) {
        let offer = OfferText.make([.audio(), .video()]).replacing(OfferText.fingerprint, with: fingerprint)
        #expect(throws: SDPError.unusableFingerprint(section: 0)) { try Answer.toPublisher(offer) }
    }

    @Test(
        "one usable fingerprint among others is enough, in either case",
        arguments: [hash("sha-256", 32), hash("SHA-256", 32), hash("sha-384", 48), hash("sha-512", 64)])
    func usable(fingerprint: String) throws {
        var section = OfferText.Section.audio()
        section.fingerprints = [Self.hash("sha-1", 20), "sha-256 0F", fingerprint, Self.hash("md5", 16)]
        #expect(try Answer.toPublisher(OfferText.make([section])).problems.isEmpty)
    }

    @Test("a section's fingerprint replaces the session's, whether it is better or worse")
    func levels() throws {
        let (good, bad) = (Self.hash("sha-256", 32), Self.hash("sha-1", 20))
        func answer(session: String?, section: String?) throws -> Answer {
            var audio = OfferText.Section.audio()
            audio.fingerprints = section.map { [$0] } ?? []
            return try Answer.toPublisher(
                OfferText.make([audio], session: session.map { ["a=fingerprint:\($0)"] } ?? []))
        }
        #expect(try answer(session: good, section: nil).problems.isEmpty)
        #expect(try answer(session: bad, section: good).problems.isEmpty)
        for section in [bad, "sha-256 zz", "sha-256 0F:0F"] {
            #expect(throws: SDPError.unusableFingerprint(section: 0)) { try answer(session: good, section: section) }
        }
        #expect(throws: SDPError.unusableFingerprint(section: 0)) { try answer(session: bad, section: nil) }
        #expect(throws: SDPError.missingFingerprint) { try answer(session: nil, section: nil) }
    }

    @Test("of a group, the fingerprints of its first section apply") func bundled() throws {
        var video = OfferText.Section.video()
        video.fingerprints = [Self.hash("sha-1", 20)]
        #expect(try Answer.toPublisher(OfferText.make([.audio(), video])).problems.isEmpty)
        #expect(throws: SDPError.unusableFingerprint(section: 1)) {
            try Answer.toPublisher(OfferText.make([.audio(), video], groups: ["1 0"]))
        }
    }
}
