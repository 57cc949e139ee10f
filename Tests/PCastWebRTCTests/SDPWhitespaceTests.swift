import PCastCore
import PCastWebRTC
import Testing

/// Spaces and tabs of peers where RFC 8866 has none.
@Suite("Whitespace in session descriptions")
struct SDPWhitespaceTests {
    private static let clean = OfferText.make(
        [
            .audio(),
            .video("1", "96", OfferText.h264 + ["a=rtcp-rsize", "a=rid:h send max-width=640", "a=ssrc:7 cname:c"]),
        ],
        session: ["a=extmap-allow-mixed"])

    /// Returns the description with every `a=` line changed around its name and value.
    private static func changed(_ change: (_ name: Substring, _ value: Substring?) -> String) -> String {
        clean.split(separator: "\r\n").map { line in
            guard line.hasPrefix("a="), !line.hasPrefix("a=candidate") else { return String(line) }
            let text = line.dropFirst(2)
            guard let colon = text.firstIndex(of: ":") else { return "a=" + change(text, nil) }
            return "a=" + change(text[..<colon], text[text.index(after: colon)...])
        }.map { $0 + "\r\n" }.joined()
    }

    @Test("trailing spaces or tabs do not change flags and values", arguments: [" ", "   ", "\t", " \t "])
    func trailing(space: String) throws {
        let text = Self.changed { name, value in value.map { "\(name):\($0)\(space)" } ?? "\(name)\(space)" }
        #expect(try SessionDescription(parsing: text) == SessionDescription(parsing: Self.clean))
    }

    @Test("leading spaces or tabs do not change values", arguments: [" ", "  ", "\t"])
    func leading(space: String) throws {
        let text = Self.changed { name, value in value.map { "\(name):\(space)\($0)" } ?? String(name) }
        #expect(try SessionDescription(parsing: text) == SessionDescription(parsing: Self.clean))
    }

    @Test("words of a value may have more space between them", arguments: ["  ", "\t", " \t"])
    func between(space: String) throws {
        let text = Self.changed { name, value in
            value.map { "\(name):\($0.replacing(" ", with: space))" } ?? String(name)
        }
        #expect(try SessionDescription(parsing: text) == SessionDescription(parsing: Self.clean))
    }

    @Test("a fragment is parsed in the same way") func fragment() throws {
        let clean =
            "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\nm=audio 9 RTP/AVP 0\r\na=mid:0\r\n"
            + "a=end-of-candidates\r\n"
        let spaced =
            "a=ice-ufrag: abcd \r\na=ice-pwd:\t0123456789012345678901 \r\nm=audio 9 RTP/AVP 0\r\na=mid: 0\t\r\n"
            + "a=end-of-candidates \r\n"
        let fragment = try TrickleFragment(parsing: spaced)
        #expect(fragment == (try TrickleFragment(parsing: clean)) && fragment.hasEndOfCandidates)
    }

    @Test("RFC 9725, section 4.3.3: a fragment has ice-lite and ice-options like the description")
    func fragmentOptions() throws {
        let fragment = TrickleFragment(
            iceUfrag: "abcd", icePwd: "0123456789012345678901", isICELite: true, iceOptions: ["trickle", "ice2"])
        #expect(fragment.text.hasPrefix("a=ice-lite\r\na=ice-options:trickle ice2\r\n"))
        #expect(try TrickleFragment(parsing: fragment.text) == fragment)
    }
}
