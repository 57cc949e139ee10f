import PCastCore
import PCastDevices

/// What a publication's source delivers.
enum SourceFrame: Sendable {
    case video(VideoSample)
    case audio(AudioFrame)
    /// A packet of Opus, of a source that has it coded already.
    case codedAudio(EncodedFrame)
}
