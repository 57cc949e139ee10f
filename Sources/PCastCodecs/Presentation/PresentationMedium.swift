import CFFmpeg

/// The kind of media in a track.
package enum PresentationMedium: Hashable, Sendable, CaseIterable {
    case video
    case audio
    case text
    case metadata

    /// Returns nil for media that are not used, such as attachments.
    init?(_ parameters: UnsafePointer<AVCodecParameters>) {
        switch parameters.pointee.codec_type {
        case AVMEDIA_TYPE_VIDEO: self = .video
        case AVMEDIA_TYPE_AUDIO: self = .audio
        case AVMEDIA_TYPE_SUBTITLE: self = .text
        case AVMEDIA_TYPE_DATA where parameters.pointee.codec_id == AV_CODEC_ID_TIMED_ID3:
            self = .metadata
        default: return nil
        }
    }
}
