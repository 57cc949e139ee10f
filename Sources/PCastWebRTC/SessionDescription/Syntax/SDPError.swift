/// Why a session description was refused.
public enum SDPError: Error, Hashable, Sendable {
    /// The text is longer than `SDPLimits.textSize`.
    case tooLarge
    /// There are more lines than `SDPLimits.lines`.
    case tooManyLines
    /// There are more media sections than `SDPLimits.mediaSections`.
    case tooManyMediaSections
    /// The text does not start with `v=0`.
    case notASessionDescription
    /// A line (counted from 1, empty lines left out) cannot be read.
    case malformedLine(Int)
    /// An RTP payload type above 127, in this line.
    case payloadTypeOutOfRange(line: Int)
    /// No media section carries an ICE user name fragment and a password.
    case missingICECredentials
    /// No media section carries a certificate's fingerprint (RFC 8122).
    case missingFingerprint
    /// The section whose transport counts, by its place, has fingerprints, and none is of a supported hash and of its
    /// length.
    case unusableFingerprint(section: Int)
    /// The peer's `a=setup` leaves no DTLS role for us (RFC 8842, section 5).
    case unusableSetup
    /// An answer has other sections, or in another order, than the offer (RFC 3264, section 6).
    case answerDoesNotMatchOffer
}

/// The bounds of what is parsed; a description beyond one of them is refused.
public enum SDPLimits {
    /// The longest text, in bytes of UTF-8.
    public static let textSize = 65_536
    /// The most lines that are not empty.
    public static let lines = 4_096
    /// The most `m=` sections.
    public static let mediaSections = 32
    /// The most `a=ssrc` and `a=ssrc-group` sources of a section; further ones are ignored.
    public static let sources = 64
    /// The most simulcast layers that are negotiated; further ones are left out of the answer.
    public static let simulcastLayers = 3
}
