public import PCastCore
public import PCastWebRTC

/// Why a peer was not let in.
public enum SFUError: Error, Hashable, Sendable {
    /// The peer's description cannot be used.
    case description(SDPError)
    /// Nothing of what was offered is known here, or, for a viewer, none of it plays the stream.
    case noCommonCodec
    /// These sections would leave a track out that the publisher means to send, or that the viewer means to receive and
    /// the stream has: half a session that looks like a whole one (RFC 9725, section 4.4.3). Never empty.
    case unacceptable([SectionProblem])
    /// No media flow the way that they have to: a publisher sends, a viewer receives.
    case wrongDirection
    case unknownStream(StreamID)
    case streamExists(StreamID)
    case unknownPeer
    /// The peer answers what it was not offered, or again.
    case noOffer
    /// The stream has no layer of that name.
    case unknownLayer(String)
    /// As many peers as the configuration allows are here.
    case full
}
