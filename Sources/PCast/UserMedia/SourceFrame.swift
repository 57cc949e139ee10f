import PCastCore
import PCastDevices

/// A unit of media that a publication's source delivers.
enum SourceFrame: Sendable {
    /// A frame of video, encoded or not.
    case video(VideoSample)
    /// A frame of audio.
    case audio(AudioFrame)
    /// An Opus packet of a source with encoded audio.
    case codedAudio(EncodedFrame)
}
