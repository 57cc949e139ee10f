import PCastMedia
import PCastPlayback

/// What a run of `pcast play` is asked for.
struct PlayPlan: Sendable {
    var addresses: [String]
    /// Of each item.
    var cuePoints: [CuePoint]
    var render: RenderArgument
    var start: TimeSpan?
    var speed: Double
    var duration: TimeSpan?
    var screenshot: String?
    var isLooping: Bool
    var isMuted: Bool

    var videos: [Video] { addresses.map { Video($0, cuePoints: cuePoints) } }
}
