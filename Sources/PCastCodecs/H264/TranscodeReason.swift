/// The reason why encoded frames cannot be sent as they are and must be decoded and encoded again.
package enum TranscodeReason: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another codec, with its name.
    case codec(String)
    /// Frames refer to later ones or come out of presentation order (B-frames). WebRTC receivers present frames in the
    /// order of arrival, so motion would stutter.
    case hasReordering
    /// A profile that WebRTC receivers do not decode.
    case profile(H264ProfileIDC)
    /// Each frame consists of two fields.
    case interlaced
    /// Frames must be presented rotated or mirrored, which the bitstream alone does not tell WebRTC receivers.
    case rotated
    /// Pixels are not square. WebRTC receivers ignore the sample aspect ratio.
    case anamorphic

    /// The description for display.
    package var description: String {
        switch self {
        case .codec(let name): "the video is encoded as \(name), not as H.264"
        case .hasReordering: "the video has B-frames: disable them at the source to avoid encoding again"
        case .profile(let profile): "the video has the H.264 profile \(profile), which few viewers can decode"
        case .interlaced: "the video is interlaced"
        case .rotated: "the video is rotated"
        case .anamorphic: "the video's pixels are not square"
        }
    }
}
