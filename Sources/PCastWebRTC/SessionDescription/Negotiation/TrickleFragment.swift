/// A piece of a description that brings ICE candidates later (`application/trickle-ice-sdpfrag`, RFC 8840 section 9),
/// as WHIP and WHEP send by PATCH (RFC 9725, section 4.3).
public struct TrickleFragment: Hashable, Sendable {
    /// The candidates of one section.
    public struct Section: Hashable, Sendable {
        /// The section of the description; nil for the first one.
        public var mid: String?
        /// Values of `a=candidate`, from `candidate:` on.
        public var candidates: [String]
        /// No more candidates will come for the section.
        public var hasEndOfCandidates: Bool

        public init(mid: String? = nil, candidates: [String] = [], hasEndOfCandidates: Bool = false) {
            self.mid = mid
            self.candidates = candidates
            self.hasEndOfCandidates = hasEndOfCandidates
        }
    }

    /// The credentials that the candidates belong to; new ones restart ICE.
    public var iceUfrag: String?
    /// The password; a restart brings a new one.
    public var icePwd: String?
    /// The side only answers ICE checks (RFC 8445, section 2.5).
    public var isICELite: Bool
    /// The same as in the description (RFC 9725, section 4.3.3).
    public var iceOptions: [String]
    /// Those before the first `m=` line have no mid.
    public var sections: [Section]

    public init(
        iceUfrag: String? = nil, icePwd: String? = nil, isICELite: Bool = false, iceOptions: [String] = [],
        sections: [Section] = []
    ) {
        self.iceUfrag = iceUfrag
        self.icePwd = icePwd
        self.isICELite = isICELite
        self.iceOptions = iceOptions
        self.sections = sections
    }

    /// Those of all sections.
    public var candidates: [String] { sections.flatMap(\.candidates) }
    /// Whether a section says that no more will come.
    public var hasEndOfCandidates: Bool { sections.contains(where: \.hasEndOfCandidates) }

    /// Reads a fragment, within the same bounds as a description.
    public init(parsing text: String) throws(SDPError) {
        guard text.utf8.count <= SDPLimits.textSize else { throw .tooLarge }
        self.init()
        var section = Section()
        var line = 0
        var mediaSections = 0
        for text in SDPLines(text) {
            line += 1
            guard line <= SDPLimits.lines else { throw .tooManyLines }
            let (type, value) = text.divided(at: "=")
            guard type.count == 1, let value else { throw .malformedLine(line) }
            if type.matches("m") {
                mediaSections += 1
                guard mediaSections <= SDPLimits.mediaSections else { throw .tooManyMediaSections }
                append(section)
                section = Section()
            } else if type.matches("a") {
                read(value, into: &section)
            }
        }
        append(section)
    }

    private mutating func append(_ section: Section) {
        if section != Section() { sections.append(section) }
    }

    private mutating func read(_ attribute: SDPText, into section: inout Section) {
        let (name, value) = attribute.attribute
        if name.matches("candidate") {
            section.candidates.append(attribute.string)
        } else if name.matches("end-of-candidates") {
            section.hasEndOfCandidates = true
        } else if name.matches("mid") {
            section.mid = value?.token
        } else if name.matches("ice-ufrag") {
            iceUfrag = iceUfrag ?? value?.token
        } else if name.matches("ice-pwd") {
            icePwd = icePwd ?? value?.token
        } else if name.matches("ice-lite") {
            isICELite = true
        } else if name.matches("ice-options"), iceOptions.isEmpty {
            iceOptions = (value?.pieces() ?? []).map(\.string)
        }
    }

    /// The fragment as text, lines ending with CRLF. It holds the ICE password, so it is not for logs.
    public var text: String {
        var lines: [String] = []
        if isICELite { lines.append("a=ice-lite") }
        if !iceOptions.isEmpty { lines.append("a=ice-options:\(iceOptions.joined(separator: " "))") }
        if let iceUfrag { lines.append("a=ice-ufrag:\(iceUfrag)") }
        if let icePwd { lines.append("a=ice-pwd:\(icePwd)") }
        for section in sections {
            if let mid = section.mid {
                // RFC 8840 section 9.2: the `m=` line only stands for its section, its contents mean nothing.
                lines.append("m=audio 9 UDP/TLS/RTP/SAVPF 0")
                lines.append("a=mid:\(mid)")
            }
            lines += section.candidates.map { "a=\($0)" }
            if section.hasEndOfCandidates { lines.append("a=end-of-candidates") }
        }
        return lines.map { $0 + "\r\n" }.joined()
    }
}
