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

    /// The capture time; nil if the source does not know it.
    var captureTime: WallTime? {
        switch self {
        case .video(.frame(let frame)): frame.captureTime
        case .video(.coded(let frame)): frame.captureTime
        case .audio(let frame): frame.captureTime
        case .codedAudio(let frame): frame.captureTime
        }
    }
}
