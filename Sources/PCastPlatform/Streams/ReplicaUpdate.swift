import PCastCore

/// An event of a participant.
enum StreamUpdate: Sendable {
    /// The current data quality, and each change of it.
    case quality(DataQuality)
    /// The end, which is the last event.
    case ended(StreamEnd)
}
