import PCast
import PCastCore
import PCastPlayback

/// The options of a `pcast playout` run.
struct PlayoutPlan: Sendable {
    var addresses: [String]
    var isLooping: Bool
    /// The page over the video; nil for none.
    var overlay: String?
    var overlaySize: Dimensions
    var browser: String
    /// Whether the browser uses its sandbox, without which a page may do everything that the user may.
    var isOverlaySandboxed: Bool
    var frameRate: Int
    let publication: PublicationPlan

    var videos: [Video] { addresses.map { Video($0) } }
}
