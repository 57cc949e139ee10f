import PCast
import PCastMedia
import PCastPlayback

/// What a run of `pcast playout` is asked for.
struct PlayoutPlan: Sendable {
    var addresses: [String]
    var isLooping: Bool
    /// The page over the pictures; nil for none.
    var overlay: String?
    var overlaySize: Dimensions
    var browser: String
    var uri: String?
    var tokens: [String]
    var listen: ListenArgument?
    var tags: [String]
    var encoding: PublishOptions
    var frameRate: Int
    var duration: TimeSpan?
    /// Whether the run ends with its stream, whatever the reason.
    var isOnce: Bool

    var videos: [Video] { addresses.map { Video($0) } }

    /// Whether a platform is started along.
    var isEmbedded: Bool { uri == nil && tokens.allSatisfy { TokenPair.field("uri", of: $0) == nil } }
}
