public import PCastCore
import PCastWebRTC

/// The state that another shard needs to create a replica of a stream.
///
/// The publisher's packets arrive at the home shard, which forwards them to the replica. Some state, such as which SSRC
/// is which layer, is sent only once by the publisher, and the replica would miss it.
public struct StreamSnapshot: Sendable {
    /// The identifier of the stream.
    public let id: StreamID
    /// The number of the publisher, by which shards identify the stream.
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
