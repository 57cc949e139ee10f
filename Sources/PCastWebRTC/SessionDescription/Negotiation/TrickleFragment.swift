/// A part of a description with additional ICE candidates (`application/trickle-ice-sdpfrag`, RFC 8840, section 9),
/// which WHIP and WHEP clients send by PATCH (RFC 9725, section 4.3).
public struct TrickleFragment: Hashable, Sendable {
    /// The candidates of one section.
    public struct Section: Hashable, Sendable {
        /// The MID of the section; nil for the first one.
        public var mid: String?
        /// The ICE candidates, beginning with `candidate:`.
        public var candidates: [String]
        /// Whether no more candidates will follow for the section.
        public var hasEndOfCandidates: Bool

        /// Creates a section.
        public init(mid: String? = nil, candidates: [String] = [], hasEndOfCandidates: Bool = false) {
            self.mid = mid
            self.candidates = candidates
            self.hasEndOfCandidates = hasEndOfCandidates
        }
    }

    /// The ICE username fragment of the candidates; nil if missing. A new one restarts ICE.
    public var iceUfrag: String?
    /// The ICE password; nil if missing.
    public var icePwd: String?
    /// Whether the side is an ICE lite agent (RFC 8445, section 2.5).
    public var isICELite: Bool
    /// The ICE options, the same as in the description (RFC 9725, section 4.3.3).
    public var iceOptions: [String]
    /// The sections. Candidates before the first `m=` line are in a section without a MID.
    public var sections: [Section]

    /// Creates a fragment.
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

    /// The candidates of all sections.
    public var candidates: [String] { sections.flatMap(\.candidates) }
    /// Whether no more candidates will follow for at least one section.
    public var hasEndOfCandidates: Bool { sections.contains(where: \.hasEndOfCandidates) }

    /// Parses a fragment, with the same limits as a description.
    ///
    /// - Parameter text: The fragment.
    /// - Throws: ``SDPError`` if a line cannot be read or a limit is exceeded.
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

    /// Appends a section unless it is empty.
    private mutating func append(_ section: Section) {
        if section != Section() { sections.append(section) }
    }

    /// Reads an attribute; unknown ones are ignored.
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

    /// The fragment as text, with lines that end with CRLF. It contains the ICE password, so it must not be logged.
    public var text: String {
        var lines: [String] = []
        if isICELite { lines.append("a=ice-lite") }
        if !iceOptions.isEmpty { lines.append("a=ice-options:\(iceOptions.joined(separator: " "))") }
        if let iceUfrag { lines.append("a=ice-ufrag:\(iceUfrag)") }
        if let icePwd { lines.append("a=ice-pwd:\(icePwd)") }
        for section in sections {
            if let mid = section.mid {
                // The `m=` line only represents its section; its content is ignored (RFC 8840, section 9.2).
                lines.append("m=audio 9 UDP/TLS/RTP/SAVPF 0")
                lines.append("a=mid:\(mid)")
            }
            lines += section.candidates.map { "a=\($0)" }
            if section.hasEndOfCandidates { lines.append("a=end-of-candidates") }
        }
        return lines.map { $0 + "\r\n" }.joined()
    }
}
