/// How a camera hands its pictures over.
public enum CaptureEncoding: Hashable, Sendable {
    case yuyv
    case nv12
    case i420
    case mjpeg
    case h264

    /// Made by computation: any size, no bytes to convert.
    case computed

    /// Any other, by its four characters (FourCC): captured where `isCapturable` says so, else only listed.
    case other(String)

    /// For people and for machine-readable output.
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
