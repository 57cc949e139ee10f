public import PCastCore
public import PCastWebRTC

/// An event that the SFU reports to its driver.
public enum SFUEvent: Hashable, Sendable {
    /// The peer has keys, and media can flow.
    case connected(PeerID, SRTPProfile)
    /// The first packet of the publisher arrived.
    case mediaStarted(PeerID)
    /// The peer has been silent for five seconds.
    case away(PeerID)
    /// The peer can be reached again.
    case back(PeerID)
    /// The new data quality of the peer. Before the first event it is good.
    case dataQuality(PeerID, DataQuality)
    /// The peer has left, and the SFU has removed it. Each viewer of a publisher has its own event.
    case ended(PeerID, StreamEndedReason)
    /// A connection (ICE-TCP) that is no longer needed and must be closed.
    case closeConnection(NetworkPath)
}
