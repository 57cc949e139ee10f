import PCastDevices
import PCastMedia

/// What a source of this machine delivers.
enum SourceFrame: Sendable {
    case video(VideoSample)
    case audio(AudioFrame)
}
