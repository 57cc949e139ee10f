public import PCastCore
public import PCastWebRTC

/// An event that the SFU reports to its driver.
public enum SFUEvent: Hashable, Sendable {
    /// A connectivity check has found the first path to the peer.
    case reachable(PeerID)
    /// The peer has keys, and media can flow.
    case connected(PeerID, SRTPProfile)
    /// The first packet of the publisher arrived.
    case mediaStarted(PeerID)
    /// The first key frame is being sent to the viewer.
    case videoStarted(PeerID)
    /// The peer has been silent for five seconds.
    case away(PeerID)
    /// The peer can be reached again.
    case back(PeerID)
    /// The new data quality of the peer. Before the first event it is good.
    case dataQuality(PeerID, DataQuality)
    /// Properties of a publisher's video that cost its viewers latency, each once: frames in another order than that of
    /// their presentation, and rare key frames, which the publisher does not make on request. Publishers in this process
    /// are reviewed where their frames are known.
    case videoFindings(PeerID, isReordered: Bool, keyFrameInterval: TimeSpan?)
    /// The peer has left, and the SFU has removed it. Each viewer of a publisher has its own event.
    case ended(PeerID, StreamEndedReason)
    /// The link of a pulled stream to another node has ended for a reason. The stream and its viewers remain, because
    /// the link has `PeerOptions.keepsViewers`.
    case linkLost(PeerID, StreamEndedReason)
    /// The video of the publisher has another codec from now on.
    case videoCodecChanged(PeerID, Codec)
    /// The renditions of the publisher's video that viewers want changed. They are the layers of a bit mask.
    case renditionsWanted(PeerID, layers: UInt8)
    /// Viewers need key frames of renditions of the publisher's video, which are the layers of a bit mask.
    case renditionKeyFramesWanted(PeerID, layers: UInt8)
    /// A connection (ICE-TCP) that is no longer needed and must be closed.
    case closeConnection(NetworkPath)
}

/// A queue of events, in the order in which they occurred.
///
/// Removing an event moves no other event, because all viewers of a stream can leave at the same time. A peer causes
/// few events in its life, and the driver of the SFU takes them after each iteration.
struct EventQueue {
    private var events: [SFUEvent] = []
    private var readCount = 0

    mutating func append(_ event: SFUEvent) { events.append(event) }

    mutating func popFirst() -> SFUEvent? {
        guard readCount < events.count else { return nil }
        defer {
            readCount += 1
            if readCount == events.count {
                events.removeAll(keepingCapacity: true)
                readCount = 0
            }
        }
        return events[readCount]
    }
}
