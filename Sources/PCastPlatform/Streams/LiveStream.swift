import PCastMedia
import PCastRelay

/// A stream that is being published.
struct LiveStream: Sendable {
    let id: StreamID
    let peer: PeerID
    let application: ApplicationID
    let session: SessionID?
    let tags: [String]
    let capabilities: [String]
    let startTime: WallTime
    /// Which came first: newer streams have higher numbers.
    let ordinal: Int
    var hasMedia = false
}
