import PCastCore
import PCastWebRTC
import Testing

/// Spaces and tabs that peers write where RFC 8866 has none.
@Suite("Whitespace in session descriptions")
struct SDPWhitespaceTests {
    private static let clean = OfferText.make(
        [
            .audio(),
            .video("1", "96", OfferText.h264 + ["a=rtcp-rsize", "a=rid:h send max-width=640", "a=ssrc:7 cname:c"]),
        ],
        session: ["a=extmap-allow-mixed"])

    /// Every `a=` line with something around its name and value.
    private static func changed(_ change: (_ name: Substring, _ value: Substring?) -> String) -> String {
        clean.split(separator: "\r\n").map { line in
            guard line.hasPrefix("a="), !line.hasPrefix("a=candidate") else { return String(line) }
            let text = line.dropFirst(2)
            guard let colon = text.firstIndex(of: ":") else { return "a=" + change(text, nil) }
            return "a=" + change(text[..<colon], text[text.index(after: colon)...])
        }.map { $0 + "\r\n" }.joined()
    }

    @Test("Flags and values mean the same with spaces or tabs behind them", arguments: [" ", "   ", "\t", " \t "])
    func trailing(space: String) throws {
        let text = Self.changed { name, value in value.map { "\(name):\($0)\(space)" } ?? "\(name)\(space)" }
        #expect(try SessionDescription(parsing: text) == SessionDescription(parsing: Self.clean))
    }

    @Test("Values mean the same with spaces or tabs before them", arguments: [" ", "  ", "\t"])
    func leading(space: String) throws {
        let text = Self.changed { name, value in value.map { "\(name):\(space)\($0)" } ?? String(name) }
        #expect(try SessionDescription(parsing: text) == SessionDescription(parsing: Self.clean))
    }

    @Test("Words of a value may be further apart", arguments: ["  ", "\t", " \t"])
    func between(space: String) throws {
        let text = Self.changed { name, value in
            value.map { "\(name):\($0.replacing(" ", with: space))" } ?? String(name)
        }
        #expect(try SessionDescription(parsing: text) == SessionDescription(parsing: Self.clean))
    }

    @Test("A fragment is read alike") func fragment() throws {
        let clean =
            "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\nm=audio 9 RTP/AVP 0\r\na=mid:0\r\n"
            + "a=end-of-candidates\r\n"
        let spaced =
            "a=ice-ufrag: abcd \r\na=ice-pwd:\t0123456789012345678901 \r\nm=audio 9 RTP/AVP 0\r\na=mid: 0\t\r\n"
            + "a=end-of-candidates \r\n"
        let fragment = try TrickleFragment(parsing: spaced)
        #expect(fragment == (try TrickleFragment(parsing: clean)) && fragment.hasEndOfCandidates)
    }

    @Test("RFC 9725, section 4.3.3: a fragment says ice-lite and ice-options as the description does")
    func fragmentOptions() throws {
        let fragment = TrickleFragment(
            iceUfrag: "abcd", icePwd: "0123456789012345678901", isICELite: true, iceOptions: ["trickle", "ice2"])
        #expect(fragment.text.hasPrefix("a=ice-lite\r\na=ice-options:trickle ice2\r\n"))
        #expect(try TrickleFragment(parsing: fragment.text) == fragment)
    }
}
