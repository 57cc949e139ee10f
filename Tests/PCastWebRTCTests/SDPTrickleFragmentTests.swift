import PCastWebRTC
import Testing

@Suite("Trickled candidates")
struct SDPTrickleFragmentTests {
    /// A fragment in the form of RFC 9725 section 4.3.1.
    private let text = """
        a=group:BUNDLE 0 1\r
        m=audio 9 UDP/TLS/RTP/SAVPF 111\r
        a=mid:0\r
        a=ice-ufrag:EsAw\r
        a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r
        a=candidate:1387637174 1 udp 2122260223 192.0.2.1 61764 typ host generation 0 ufrag EsAw network-id 1\r
        a=candidate:3471623853 1 udp 2122194687 198.51.100.2 61765 typ host\r
        a=end-of-candidates\r
        m=video 9 UDP/TLS/RTP/SAVPF 96\r
        a=mid:1\r
        a=candidate:1 1 tcp 1518280447 192.0.2.1 9 typ host tcptype active\r

        """

    @Test("a fragment is parsed section by section, and is equal after writing")
    func reads() throws {
        let fragment = try TrickleFragment(parsing: text)
        #expect(fragment.iceUfrag == "EsAw" && fragment.icePwd == "P2uYro0UCOQ4zxjKXaWCBui1")
        #expect(fragment.sections.map(\.mid) == ["0", "1"] && fragment.candidates.count == 3)
        #expect(fragment.sections.map(\.hasEndOfCandidates) == [true, false] && fragment.hasEndOfCandidates)
        #expect(fragment.candidates[2] == "candidate:1 1 tcp 1518280447 192.0.2.1 9 typ host tcptype active")
        #expect(try TrickleFragment(parsing: fragment.text) == fragment)
    }

    @Test("credentials and candidates may precede every section")
    func withoutSections() throws {
        let fragment = try TrickleFragment(parsing: "a=ice-ufrag:u\na=ice-pwd:p\na=candidate:x\na=end-of-candidates")
        #expect(fragment.iceUfrag == "u" && fragment.sections.count == 1 && fragment.sections[0].mid == nil)
        #expect(fragment.text == "a=ice-ufrag:u\r\na=ice-pwd:p\r\na=candidate:x\r\na=end-of-candidates\r\n")
        #expect(try TrickleFragment(parsing: "") == TrickleFragment())
    }

    @Test("size, lines and sections are limited, and lines have a type")
    func refuses() {
        #expect(throws: SDPError.malformedLine(2)) { try TrickleFragment(parsing: "a=x\n{}") }
        #expect(throws: SDPError.tooLarge) {
            try TrickleFragment(parsing: "a=" + String(repeating: "x", count: SDPLimits.textSize))
        }
        #expect(throws: SDPError.tooManyLines) {
            try TrickleFragment(parsing: String(repeating: "a=x\n", count: SDPLimits.lines + 1))
        }
        #expect(throws: SDPError.tooManyMediaSections) {
            try TrickleFragment(
                parsing: String(repeating: "m=x\na=mid:0\n", count: SDPLimits.mediaSections + 1))
        }
    }
}
