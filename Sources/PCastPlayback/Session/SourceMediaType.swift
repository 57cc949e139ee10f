/// The media type of a source (Brightcove's `BCOVSourceMediaType`, with the same raw values).
public enum SourceMediaType: Int, Hashable, Sendable, CaseIterable {
    /// The media type is not known yet.
    case undetermined = 0
    /// The source has only audio.
    case audio = 1
    /// The source has audio and video, or only video.
    case audioVideo = 2
}
