import PCastCore
import PCastRTP
import PCastWebRTC

/// What a stream's home knows of its viewers at another shard, as that shard told last.
struct StreamReplica {
    /// Which tracks anybody takes there.
    struct Takers: Hashable {
        /// Of the video, as bits.
        var layers: UInt8 = 0
        var audio = false
    }

    /// What the viewers' links carry, all together.
    struct Links: Hashable {
        var count = 0
        var limited = 0
        var takers = 0
        var blind = 0
        /// Those that count as viewers.
        var counted = 0
    }

    let shard: Int
    var takers = Takers()
    var links = Links()
    /// Of each link that is known.
    var estimates: [Bitrate] = []
}

/// What a stream's home tells its replicas of it, beside its packets.
struct ReplicaUpdate {
    var isAway: Bool
    var resting: RestingTracks
    /// What the publisher is asked for.
    var limit: SharedLimit
    var isPictureLeftOut: Bool
    /// The layers of which the publisher leaves requests for key frames unanswered, as bits.
    var unansweredLayers: UInt8
}
