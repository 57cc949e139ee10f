/// Whether a source is of sound alone (Brightcove's `BCOVSourceMediaType`, with its numbers).
public enum SourceMediaType: Int, Hashable, Sendable, CaseIterable {
    /// Not known yet.
    case undetermined = 0
    case audio = 1
    case audioVideo = 2
}
