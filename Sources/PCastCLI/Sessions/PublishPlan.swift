import PCast

/// What `pcast publish` was asked for.
struct PublishPlan: Sendable {
    let publication: PublicationPlan
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
}
