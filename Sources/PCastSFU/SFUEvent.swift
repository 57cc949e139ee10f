public import PCastCore
public import PCastWebRTC

/// What the relay tells whoever let the peers in.
public enum SFUEvent: Hashable, Sendable {
    /// Keys are agreed; media can flow.
    case connected(PeerID, SRTPProfile)
    /// The first packet of the publisher's arrived.
    case mediaStarted(PeerID)
    /// Silent for five seconds, and heard of again.
    case away(PeerID)
    case back(PeerID)
    /// The row of the data quality's tables that holds for the peer from now on; before the first, all gets through.
    case dataQuality(PeerID, DataQuality)
    /// The peer is gone, and the relay has forgotten it. A publisher's viewers are told one by one.
    case ended(PeerID, StreamEndedReason)
    /// A stream connection (ICE-TCP) that is not needed any more.
    case closeConnection(NetworkPath)
}
