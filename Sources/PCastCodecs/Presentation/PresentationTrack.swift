import CFFmpeg

/// A track of a file that can be chosen: it can be decoded.
public struct PresentationTrack: Hashable, Sendable, Identifiable {
    /// The index of its stream in the file.
    public let id: Int32
    public let medium: PresentationMedium
    /// As the file calls it; may be empty.
    public let name: String
    /// As the file says it, ISO 639; nil when it does not.
    public let language: String?
    /// The one to be played where nobody chooses.
    public let isDefault: Bool

    /// - Returns: nil for what cannot be decoded, or is no track to be played: the cover of a song, pictures of subtitles.
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
