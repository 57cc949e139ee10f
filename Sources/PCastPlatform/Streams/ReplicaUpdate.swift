import PCastCore

/// An event of a participant.
enum StreamUpdate: Sendable {
    /// The current data quality, and each change of it.
    case quality(DataQuality)
    /// Captions of the stream that is viewed, by the platform's capture clock.
    case captions([CaptionCue])
    /// The end, which is the last event.
    case ended(StreamEnd)
}
