/// The choice of a video encoder.
public enum VideoEncoderChoice: Hashable, Sendable {
    /// A hardware encoder if one works, otherwise the software encoder.
    case automatic
    /// The software encoder, libx264 or libvpx.
    case software
    /// The encoder with this FFmpeg name, such as `h264_vaapi`.
    case named(String)

    /// Creates a choice from the text `automatic`, `software` or an encoder's name.
    public init(_ text: String) {
        switch text {
        case "automatic": self = .automatic
        case "software": self = .software
        default: self = .named(text)
        }
    }
}
