public import PCastMedia
import PCastWebRTC

/// All that another shard needs to have a replica of a stream: its publisher's packets come to the stream's home, and from
/// there to the replica, which has viewers of its own.
public struct StreamBlueprint: Sendable {
    public let id: StreamID
    /// By whose number shards speak of the stream.
    let publisher: PeerID
    let media: [NegotiatedMedia]
    let playout: TimeSpan?
    /// What reports of the publisher answer.
    let reporterSSRC: UInt32
}
