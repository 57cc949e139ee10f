public import PCastCore
import PCastRTP
import PCastWebRTC

/// The state that another shard needs to create a replica of a stream.
///
/// Packets arrive at the publisher's shard, which forwards them to the replica. Some state, such as which SSRC is which
/// layer, is sent only once by the publisher, and the replica would miss it.
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

/// The viewers on another shard, as the publisher's shard knows them from that shard's last message.
struct StreamReplica {
    /// The tracks that have subscribers on the shard.
    struct SubscribedTracks: Hashable {
        /// The video layers, as bits.
        var layers: UInt8 = 0
        var audio = false
    }

    /// A summary of the viewers' links.
    struct Links: Hashable {
        var count = 0
        var limited = 0
        var subscribers = 0
        var blind = 0
        /// The number of viewers that count as such.
        var counted = 0
    }

    let shard: Int
    var subscribers = SubscribedTracks()
    var links = Links()
    /// The bandwidth estimate of each known link.
    var estimates: [Bitrate] = []
}

/// The state of a stream that the publisher's shard sends to replicas, in addition to packets.
struct ReplicaUpdate {
    /// Whether the publisher's connection is lost, and the stream waits for it.
    var isAway: Bool
    var pausedTracks: PausedTracks
    /// The limit that is requested from the publisher.
    var limit: SharedLimit
    var isVideoDropped: Bool
    /// The layers whose publisher leaves requests for key frames unanswered, as bits.
    var unansweredLayers: UInt8
}

/// The state of a track in addition to its packets.
struct TrackSnapshot {
    /// The format of the newest packets.
    var sourceFormat: SourceFormat?
    var captureClock: CaptureClock?
    var followsReports = false
    var arrivalClock = ArrivalClock()
    var activity = TrackActivity()
    /// The format of the video according to the last key frame; nil while it is unknown.
    var video: CodecParameters?
    /// The bit rate on the wire. For a paused track it is the last bit rate; nil while it is unknown.
    var bitrate: Bitrate?
    /// The timestamp of the newest key frame, and the size of the payload that has arrived.
    var keyFrame: (timestamp: UInt32, byteCount: Int)?
    var parameterSets = VideoParameterSets()
    /// The reader of layers, whose structure only key frames contain.
    var layerReader = LayerReader()
    /// The shares of the layers.
    var shares = LayerShares()
}
