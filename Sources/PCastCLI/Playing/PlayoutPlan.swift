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
    /// Whether the browser runs pages in its sandbox, without which root's may do anything.
    var isOverlaySandboxed: Bool
    var frameRate: Int
    let publication: PublicationPlan

    var videos: [Video] { addresses.map { Video($0) } }
}
