public import PCastCore
import PCastWebRTC

/// All that another shard needs to have a replica of a stream: its publisher's packets come to the stream's home, and from
/// there to the replica, which has viewers of its own and goes on where the home was. What a publisher says once, such as
/// which source is which layer, the replica would not hear.
public struct StreamSnapshot: Sendable {
    public let id: StreamID
    /// By whose number shards speak of the stream.
    let publisher: PeerID
    let media: [NegotiatedMedia]
    let playout: TimeSpan?
    let receiver: MediaReceiver
    let clock: PublisherClock
    let ladder: LayerLadder
    let quality: StreamQuality
    let layers: [TrackSnapshot]
    let audio: TrackSnapshot
}
