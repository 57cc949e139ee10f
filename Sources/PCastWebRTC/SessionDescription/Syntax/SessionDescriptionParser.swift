/// Parses a session description line by line.
struct SessionDescriptionParser {
    private var session = SessionDescription(origin: SessionOrigin(sessionID: 0))
    /// The session-level attributes, which sections inherit.
    private var inherited = MediaDescription(kind: .other(""))
    /// The section that is being read; nil before the first.
    private var section: MediaDescription?
    /// The number of the current line, from 1, without empty lines.
    private var line = 0

    /// Parses a whole description.
    ///
    /// - Parameter text: The description.
    /// - Returns: The description.
    /// - Throws: ``SDPError`` if a line cannot be read or a limit is exceeded.
    mutating func parse(_ text: String) throws(SDPError) -> SessionDescription {
        guard text.utf8.count <= SDPLimits.textSize else { throw .tooLarge }
        for text in SDPLines(text) {
            line += 1
            guard line <= SDPLimits.lines else { throw .tooManyLines }
            try read(text)
        }
        guard line > 0 else { throw .notASessionDescription }
        finishSection()
        return session
    }

    private mutating func read(_ text: SDPText) throws(SDPError) {
        let (name, value) = text.divided(at: "=")
        guard name.count == 1, let type = name.first, let value else {
            throw line == 1 ? .notASessionDescription : .malformedLine(line)
        }
        if line == 1 {
            guard type == UInt8(ascii: "v"), value.trimmed.matches("0") else { throw .notASessionDescription }
            return
        }
        switch Unicode.Scalar(type) {
        case "o": session.origin = SessionOrigin(parsing: value)
        case "s": session.name = value.string
        case "b": readBandwidth(value)
        case "m": try beginSection(value)
        case "a": try readAttribute(value)
        default: break
        }
    }

    /// Reads a `b=` line of a section, of which only `AS` matters.
    private mutating func readBandwidth(_ value: SDPText) {
        let (type, kilobits) = value.divided(at: ":")
        guard section != nil, type.matches("AS"), let kilobits else { return }
        section?.bandwidth = kilobits.trimmed.decimal()
    }

    /// Begins a section with its `m=` line.
    private mutating func beginSection(_ value: SDPText) throws(SDPError) {
        finishSection()
        guard session.media.count < SDPLimits.mediaSections else { throw .tooManyMediaSections }
        let fields = value.pieces()
        guard fields.count >= 3, let kind = fields[0].token, let transport = fields[2].token,
            let port = fields[1].divided(at: "/").head.decimal(UInt16.self)
        else { throw .malformedLine(line) }
        var media = MediaDescription(kind: .init(kind), port: port, transportProtocol: transport)
        if media.carriesRTP {
            media.payloadTypes = try payloadTypes(fields.dropFirst(3))
        } else {
            media.otherFormats = fields.dropFirst(3).compactMap(\.token)
        }
        media.direction = inherited.direction
        section = media
    }

    /// Reads the payload types of an `m=` line, without repetitions.
    private func payloadTypes(_ fields: ArraySlice<SDPText>) throws(SDPError) -> [UInt8] {
        var seen = [Bool](repeating: false, count: 128)
        var payloadTypes: [UInt8] = []
        for field in fields {
            guard field.allSatisfy({ (0x30...0x39).contains($0) }) else { throw .malformedLine(line) }
            guard let type = field.decimal(UInt8.self), type <= 127 else { throw .payloadTypeOutOfRange(line: line) }
            guard !seen[Int(type)] else { continue }
            seen[Int(type)] = true
            payloadTypes.append(type)
        }
        return payloadTypes
    }

    /// Adds the current section, with the session-level attributes that it inherits.
    private mutating func finishSection() {
        guard var media = section else { return }
        if media.iceUfrag == nil, media.icePwd == nil {
            media.iceUfrag = inherited.iceUfrag
            media.icePwd = inherited.icePwd
        }
        if media.iceOptions.isEmpty { media.iceOptions = inherited.iceOptions }
        if media.fingerprints.isEmpty { media.fingerprints = inherited.fingerprints }
        if media.setup == nil { media.setup = inherited.setup }
        media.extensions = inherited.extensions + media.extensions
        session.media.append(media)
        section = nil
    }

    /// Reads an `a=` line of the session or the current section.
    private mutating func readAttribute(_ text: SDPText) throws(SDPError) {
        let (name, value) = text.attribute
        if section == nil, try readSessionAttribute(name, value) { return }
        let isReadable =
            section?.read(attribute: text, name: name, value: value)
            ?? inherited.read(attribute: text, name: name, value: value)
        guard isReadable else { throw .malformedLine(line) }
    }

    /// Reads an attribute that is allowed at session level only. Returns false if it is another one.
    private mutating func readSessionAttribute(_ name: SDPText, _ value: SDPText?) throws(SDPError) -> Bool {
        if name.matches("ice-lite") {
            session.isICELite = true
        } else if name.matches("extmap-allow-mixed") {
            session.allowsMixedExtensions = true
        } else if name.matches("group") {
            let fields = value?.pieces() ?? []
            guard let semantics = fields.first, semantics.matches("BUNDLE") else { return true }
            guard fields.count <= SDPLimits.mediaSections + 1 else { throw .tooManyMediaSections }
            let mids = fields.dropFirst().map(\.string)
            if session.bundle == nil {
                session.bundle = mids
            } else if session.furtherBundles.count < SDPLimits.mediaSections {
                session.furtherBundles.append(mids)
            }
        } else {
            return false
        }
        return true
    }
}

/// The lines of a text without their endings. Empty lines are left out.
struct SDPLines: Sequence, IteratorProtocol {
    private var rest: SDPText

    init(_ text: String) { rest = text[...].utf8 }

    mutating func next() -> SDPText? {
        guard let start = rest.firstIndex(where: { !Self.endsLine($0) }) else { return nil }
        let tail = rest[start...]
        let end = tail.firstIndex(where: Self.endsLine) ?? tail.endIndex
        rest = tail[end...]
        return tail[..<end]
    }

    private static func endsLine(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }
}

/// The reason why a session description was rejected.
public enum SDPError: Error, Hashable, Sendable {
    /// The text is longer than `SDPLimits.textSize`.
    case tooLarge
    /// There are more lines than `SDPLimits.lines`.
    case tooManyLines
    /// There are more media sections than `SDPLimits.mediaSections`.
    case tooManyMediaSections
    /// The text does not begin with `v=0`.
    case notASessionDescription
    /// A line is malformed. It is counted from 1, without empty lines.
    case malformedLine(Int)
    /// A line has an RTP payload type above 127.
    case payloadTypeOutOfRange(line: Int)
    /// No media section has an ICE username fragment and a password.
    case missingICECredentials
    /// No media section has a certificate fingerprint (RFC 8122).
    case missingFingerprint
    /// The section whose transport is used has fingerprints, but none with a supported hash function and its length.
    /// The value is its index.
    case unusableFingerprint(section: Int)
    /// The `a=setup` of the peer leaves no DTLS role for this side (RFC 8842, section 5).
    case unusableSetup
    /// The sections of an answer differ from those of the offer (RFC 3264, section 6).
    case answerDoesNotMatchOffer
}

extension SDPError: CustomStringConvertible {
    /// The problem and its correction, without a full stop, for use within a sentence.
    public var description: String {
        switch self {
        case .tooLarge: "it is longer than \(SDPLimits.textSize) bytes; send a shorter one"
        case .tooManyLines: "it has more than \(SDPLimits.lines) lines; send fewer"
        case .tooManyMediaSections: "it has more than \(SDPLimits.mediaSections) media sections; send fewer"
        case .notASessionDescription: "its first line is not “v=0”; send SDP of RFC 8866"
        case .malformedLine(let line):
            "line \(line), without empty lines, is malformed; write it as in RFC 8866 and the RFC of its attribute"
        case .payloadTypeOutOfRange(let line):
            "line \(line), without empty lines, has an RTP payload type above 127; use 0 to 127"
        case .missingICECredentials: "no media section has ICE credentials; send a=ice-ufrag and a=ice-pwd"
        case .missingFingerprint: "no media section has a certificate fingerprint; send a=fingerprint"
        case .unusableFingerprint(let section):
            "media section \(section), counted from 0, has no usable fingerprint; "
                + "send a complete one of sha-256, sha-384 or sha-512"
        case .unusableSetup:
            "its a=setup or a=ice-lite leaves no role for the other side; "
                + "offer a=setup:actpass, answer a=setup:active or passive, and do not send a=ice-lite"
        case .answerDoesNotMatchOffer:
            "its media sections are not those of the offer; answer the same sections in the same order"
        }
    }
}

/// The limits of the parser. A description that exceeds one of them is rejected unless the limit says otherwise.
package enum SDPLimits {
    /// The maximum size of the text, in bytes of UTF-8.
    package static let textSize = 65_536
    /// The maximum number of lines that are not empty.
    package static let lines = 4_096
    /// The maximum number of `m=` sections.
    package static let mediaSections = 32
    /// The maximum number of `a=ssrc` sources and of `a=ssrc-group` groups in a section; others are ignored.
    package static let sources = 64
    /// The maximum number of negotiated simulcast layers; others are omitted from the answer.
    package static let simulcastLayers = 3
}
