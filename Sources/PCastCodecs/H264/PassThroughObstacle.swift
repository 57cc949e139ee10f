/// Why coded pictures cannot be passed on as they are, and are decoded and encoded anew.
public enum PassThroughObstacle: Error, Hashable, Sendable, CustomStringConvertible {
    /// They are of another codec; its name.
    case codec(String)
    /// Pictures refer to later ones, or come in another order than they are shown: receivers of WebRTC would judder
    /// (COD5).
    case hasReordering
    /// A profile that receivers of WebRTC do not decode.
    case profile(H264Profile)
    /// Each picture holds two fields.
    case interlaced
    /// Frames are shown turned or mirrored, which receivers of WebRTC do not do.
    case rotated
    /// Pixels are not square, which receivers of WebRTC do not heed.
    case anamorphic

    public var description: String {
        switch self {
        case .codec(let name): "the video is coded in \(name), not in H.264"
        case .hasReordering: "the video has B-frames: make the source leave them out to save the encoding"
        case .profile(let profile): "the video is H.264 in its \(profile) profile, which few viewers decode"
        case .interlaced: "the video is interlaced"
        case .rotated: "the video is to be shown turned"
        case .anamorphic: "the pixels of the video are not square"
        }
    }
}
