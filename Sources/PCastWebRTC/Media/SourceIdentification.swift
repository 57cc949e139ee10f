/// The track that a packet names by MID or RID.
enum SourceIdentification {
    /// No track.
    case none
    /// The track in question.
    case own
    /// Another track.
    case other
}
