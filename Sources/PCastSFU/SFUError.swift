public import PCastCore
public import PCastWebRTC

/// The reason why a peer was not admitted, or an operation on it failed.
public enum SFUError: Error, Hashable, Sendable {
    /// The peer's session description is unusable.
    case description(SDPError)
    /// No offered codec is supported or, for a viewer, no offered codec can decode the stream.
    case noCommonCodec
    /// These sections would omit a track that the publisher wants to send, or that the viewer wants to receive and the
    /// stream has. Such a session is rejected rather than incomplete (RFC 9725, section 4.4.3). The list is never
    /// empty.
    case unacceptable([SectionProblem])
    /// No media flow in the required direction: a publisher sends, a viewer receives.
    case wrongDirection
    /// The stream does not exist or is ending.
    case unknownStream(StreamID)
    /// The stream already has a publisher.
    case streamExists(StreamID)
    /// The peer does not exist or has left.
    case unknownPeer
    /// The peer answers without an offer, or a second time.
    case noOffer
    /// The stream has no layer with this name.
    case unknownLayer(String)
    /// The SFU has the maximum number of peers.
    case full
}
