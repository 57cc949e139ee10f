import PCast

/// The options of `pcast publish`.
struct PublishPlan: Sendable {
    let publication: PublicationPlan
    /// The sources; nil for the best available ones.
    var video: SourceSpecification?
    var audio: SourceSpecification?
    var videoConstraints: DeviceConstraints
    var audioConstraints: DeviceConstraints
    /// Whether encoded video is published without encoding it again.
    var passesThrough: Bool
    /// Whether devices are only open while there are subscribers.
    var isOnDemand: Bool
    /// Whether a preview is shown.
    var isPreviewed: Bool
    /// The captions; nil for none.
    var captions: CaptionsArgument?
}
