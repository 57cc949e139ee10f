import PCastCore
import PCastRTP
import PCastWebRTC

/// The home shard's knowledge of the viewers on another shard, as of that shard's last message.
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

/// The state of a stream that its home sends to its replicas, in addition to packets.
struct ReplicaUpdate {
    var isAway: Bool
    var pausedTracks: PausedTracks
    /// The limit that is requested from the publisher.
    var limit: SharedLimit
    var isVideoDropped: Bool
    /// The layers whose publisher leaves requests for key frames unanswered, as bits.
    var unansweredLayers: UInt8
}
