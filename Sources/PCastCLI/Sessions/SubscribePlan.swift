import PCast

/// The options of `pcast subscribe`.
struct SubscribePlan: Sendable {
    var uri: String?
    var tokens: [String]
    var stream: String?
    var duration: TimeSpan?
    var render: RenderArgument
    /// The file for the last frame at the end, in PNG or JPEG format according to its extension; nil for none.
    var screenshot: String?
    var recording: String?
    /// Whether the run ends with its stream for any reason. It is always true for a recording.
    var noReconnect: Bool
}
