import PCastMedia

/// What a source of this machine delivers.
enum SourceFrame: Sendable {
    case picture(VideoFrame)
    case sound(AudioFrame)
}
