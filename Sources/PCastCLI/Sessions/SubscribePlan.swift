import PCast

/// What `pcast subscribe` was asked for.
struct SubscribePlan: Sendable {
    var uri: String?
    var tokens: [String]
    var stream: String?
    var duration: TimeSpan?
    var render: RenderArgument
    /// Where the last picture is written at the end; PNG or JPEG by its extension.
    var screenshot: String?
    var recording: String?
    /// Whether the run ends with its stream, whatever the reason; a recording is of one stream.
    var isOnce: Bool
}
