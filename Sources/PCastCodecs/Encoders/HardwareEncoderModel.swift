import CFFmpeg
import Glibc

/// A hardware encoder of FFmpeg: its requirements and its settings. The settings make it return each frame without
/// delay and make a forced key frame an IDR frame.
struct HardwareEncoderModel: Sendable {
    /// The memory from which the encoder reads frames.
    enum Surface: Hashable, Sendable {
        /// System memory, in I420 or NV12.
        case memory(isNV12: Bool)
        /// GPU memory of the VA-API device at this path.
        case vaapi(node: String)
    }

    let name: String
    /// Settings to try in this order. The first with which the encoder opens is used.
    let variants: [[String: String]]
    /// Whether the bitrate can be changed while encoding. Otherwise the encoder is reopened at a key frame.
    let supportsRateChange: Bool
    /// Returns the surfaces that this machine offers, or the reason why there is none.
    let surfaces: @Sendable () -> Result<[Surface], Unavailable>

    struct Unavailable: Error {
        let reason: String
    }

    /// The H.264 encoders in order of preference.
    static let all = [nvenc, vaapi, v4l2]

    /// NVIDIA NVENC. FFmpeg's default for `forced-idr` is off, which would make forced key frames non-IDR I-frames. The
    /// default for `delay` is the number of surfaces.
    static let nvenc = HardwareEncoderModel(
        name: "h264_nvenc",
        variants: [
            [
                "preset": "p4", "tune": "ull", "profile": "baseline", "rc": "cbr", "forced-idr": "1", "delay": "0",
                "zerolatency": "1", "no-scenecut": "1",
            ]
        ],
        supportsRateChange: true
    ) {
        guard let library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) else {
            return .failure(Unavailable(reason: "the NVIDIA driver is not installed (libcuda.so.1)"))
        }
        dlclose(library)
        return .success([.memory(isNV12: false)])
    }

    /// VA-API (Intel and AMD). Newer Intel GPUs offer only the low-power mode, and some drivers do not support a
    /// constant bitrate.
    static let vaapi = HardwareEncoderModel(
        name: "h264_vaapi",
        variants: [
            ["rc_mode": "CBR", "async_depth": "1"], ["rc_mode": "CBR", "async_depth": "1", "low_power": "1"],
            ["rc_mode": "VBR", "async_depth": "1"],
        ],
        supportsRateChange: false
    ) {
        // The minor numbers of DRM render nodes (Linux, Documentation/gpu/drm-uapi.rst).
        let nodes = (128..<136).map { "/dev/dri/renderD\($0)" }
        let present = nodes.filter { access($0, F_OK) == 0 }
        guard !present.isEmpty else {
            return .failure(Unavailable(reason: "there is no GPU (/dev/dri/renderD128)"))
        }
        let allowed = present.filter { access($0, R_OK | W_OK) == 0 }
        guard !allowed.isEmpty else {
            return .failure(Unavailable(reason: "permission denied for \(present[0]): join the group “render”"))
        }
        return .success(allowed.map { .vaapi(node: $0) })
    }

    /// V4L2 memory-to-memory encoders of systems on a chip.
    static let v4l2 = HardwareEncoderModel(name: "h264_v4l2m2m", variants: [[:]], supportsRateChange: false) {
        guard (0..<64).contains(where: { access("/dev/video\($0)", F_OK) == 0 }) else {
            return .failure(Unavailable(reason: "there is no Video4Linux device (/dev/video0)"))
        }
        return .success([.memory(isNV12: false), .memory(isNV12: true)])
    }
}
