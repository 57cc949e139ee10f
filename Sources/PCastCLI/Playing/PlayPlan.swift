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
    /// The name of a programme, or a folder of an overlay's pages.
    var overlay: String?
    var timeline: PlayTimeline.Plan?

    /// When the first frame of the first item was made; nil for what it says itself.
    var timelineStart: WallTime?

    var videos: [Video] {
        addresses.enumerated().map { index, address in
            Video(address, cuePoints: cuePoints, wallClock: index == 0 ? timelineStart.map { .start($0) } : nil)
        }
    }
}
