/// The encoding of a camera's frames.
public enum CaptureEncoding: Hashable, Sendable {
    case yuyv
    case nv12
    case i420
    case mjpeg
    case h264

    /// Computed frames of any size, without conversion.
    case computed

    /// Another encoding, by its four characters (FourCC). It can be captured if `isCapturable` is true.
    case other(String)

    /// The name for display and for machine-readable output.
    public var name: String {
        switch self {
        case .yuyv: "YUYV"
        case .nv12: "NV12"
        case .i420: "I420"
        case .mjpeg: "MJPEG"
        case .h264: "H264"
        case .computed: "computed"
        case .other(let name): name
        }
    }
}
