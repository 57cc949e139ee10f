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
