/// Which encoder is to be used.
public enum VideoEncoderChoice: Hashable, Sendable {
    /// A hardware encoder when there is one that works, else the software one.
    case automatic
    /// libx264 or libvpx.
    case software
    /// By FFmpeg's name, such as `h264_vaapi`.
    case named(String)

    /// `automatic`, `software`, or an encoder's name.
    public init(_ text: String) {
        switch text {
        case "automatic": self = .automatic
        case "software": self = .software
        default: self = .named(text)
        }
    }
}
