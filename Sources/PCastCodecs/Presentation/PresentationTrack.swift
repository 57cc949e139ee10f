import CFFmpeg

/// A track of a file that can be decoded and selected.
package struct PresentationTrack: Hashable, Sendable, Identifiable {
    /// The index of its stream in the file.
    package let id: Int32
    /// The kind of media.
    package let medium: PresentationMedium
    /// The title from the file; may be empty.
    package let name: String
    /// The language from the file (ISO 639); nil if it is unknown.
    package let language: String?
    /// Whether the file marks it as the default.
    package let isDefault: Bool

    /// Returns nil for a stream that cannot be decoded, for a cover image and for bitmap subtitles.
    init?(_ stream: UnsafeMutablePointer<AVStream>) {
        guard let parameters = stream.pointee.codecpar, let medium = PresentationMedium(parameters),
            stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0
        else { return nil }
        if medium != .metadata {
            guard avcodec_find_decoder(parameters.pointee.codec_id) != nil else { return nil }
        }
        if medium == .text {
            let description = avcodec_descriptor_get(parameters.pointee.codec_id)
            guard let description, description.pointee.props & AV_CODEC_PROP_TEXT_SUB != 0 else {
                return nil
            }
        }
        id = stream.pointee.index
        self.medium = medium
        func entry(_ key: String) -> String? {
            av_dict_get(stream.pointee.metadata, key, nil, 0).map { String(cString: $0.pointee.value) }
        }
        name = entry("title") ?? ""
        let language = entry("language")
        self.language = language == "und" ? nil : language
        isDefault = stream.pointee.disposition & AV_DISPOSITION_DEFAULT != 0
    }
}

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
