import PCastCore
import PCastPlayback

/// The options of a `pcast play` run.
struct PlayPlan: Sendable {
    var addresses: [String]
    /// The cue points of each item.
    var cuePoints: [CuePoint]
    var render: RenderArgument
    var start: TimeSpan?
    var speed: Double
    var duration: TimeSpan?
    var screenshot: String?
    var isLooping: Bool
    var isMuted: Bool
    /// The name of a program, or a folder with the pages of an overlay; nil for no overlay.
    var overlay: String?
    var timeline: PlayTimeline.Plan?

    /// The capture time of the first frame of the first item; nil for the time in the media.
    var timelineStart: WallTime?

    var videos: [Video] {
        addresses.enumerated().map { index, address in
            Video(address, cuePoints: cuePoints, wallClock: index == 0 ? timelineStart.map { .start($0) } : nil)
        }
    }
}
