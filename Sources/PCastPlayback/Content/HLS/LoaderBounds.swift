internal import PCastCore

/// The limits of the media that a loader keeps.
struct LoaderBounds: Sendable {
    /// The maximum duration ahead of the position.
    var ahead: TimeSpan
    /// The duration behind the position that is kept, for seeks without loading.
    var behind: TimeSpan
    /// The maximum size of all segments in bytes. One segment is always kept.
    var bytes: Int

    /// The limits for video, with or without audio.
    static let media = LoaderBounds(
        ahead: .seconds(30 as Int64), behind: .seconds(10 as Int64), bytes: 48 << 20)
    /// The limits for an audio rendition.
    static let audio = LoaderBounds(
        ahead: .seconds(30 as Int64), behind: .seconds(10 as Int64), bytes: 8 << 20)
    /// The limits for subtitles.
    static let text = LoaderBounds(
        ahead: .seconds(60 as Int64), behind: .seconds(10 as Int64), bytes: 1 << 20)
}
