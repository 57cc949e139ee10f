import PCast

/// What `pcast publish` was asked for.
struct PublishPlan: Sendable {
    var uri: String?
    var tokens: [String]
    var listen: ListenArgument?
    /// What it is made of; nil for the best there is.
    var video: SourceSpecification?
    var audio: SourceSpecification?
    var videoConstraints: DeviceConstraints
    var audioConstraints: DeviceConstraints
    /// Whether what comes coded already is published as it is.
    var passesThrough: Bool
    /// Whether devices are open only while somebody watches.
    var isOnDemand: Bool
    /// Whether it is shown here as well.
    var isPreviewed: Bool
    var tags: [String]
    var encoding: PublishOptions
    var duration: TimeSpan?
    /// Whether the run ends with its stream, whatever the reason.
    var isOnce: Bool

    /// Whether a platform is started along.
    var isEmbedded: Bool { uri == nil && tokens.allSatisfy { TokenPair.field("uri", of: $0) == nil } }
}
