import CFFmpeg
import Glibc

/// A kind of hardware encoder that FFmpeg has: what it needs, and how it is opened so that each picture comes out at
/// once, and a forced key frame is an IDR picture (COD3).
struct HardwareEncoderModel: Sendable {
    /// Where pictures are handed over.
    enum Surface: Hashable, Sendable {
        /// In memory, of I420 or NV12.
        case memory(isNV12: Bool)
        /// In a graphics processor's memory, by the node of its device.
        case vaapi(node: String)
    }

    let name: String
    /// Settings that may fit; the first with which it opens is taken.
    let variants: [[String: String]]
    /// Whether a change of the rate is obeyed while it runs; else it is opened again, at a key frame (COD2).
    let obeysRate: Bool
    /// The ways to hand pictures over on this machine; or what is missing, for people.
    let surfaces: @Sendable () -> Result<[Surface], Absence>

    struct Absence: Error {
        let reason: String
    }

    /// Those for H.264, the best first.
    static let all = [nvenc, vaapi, v4l2]

    /// NVIDIA's. `forced-idr` is off by default (COD3); `delay` would be the number of its surfaces.
    static let nvenc = HardwareEncoderModel(
        name: "h264_nvenc",
        variants: [
            [
                "preset": "p4", "tune": "ull", "profile": "baseline", "rc": "cbr", "forced-idr": "1", "delay": "0",
                "zerolatency": "1", "no-scenecut": "1",
            ]
        ],
        obeysRate: true
    ) {
        guard let library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) else {
            return .failure(Absence(reason: "no driver of NVIDIA's is installed (libcuda.so.1)"))
        }
        dlclose(library)
        return .success([.memory(isNV12: false)])
    }

    /// Intel's and AMD's. Newer processors of Intel's have the low-power way alone, and not every driver has a constant
    /// rate.
    static let vaapi = HardwareEncoderModel(
        name: "h264_vaapi",
        variants: [
            ["rc_mode": "CBR", "async_depth": "1"], ["rc_mode": "CBR", "async_depth": "1", "low_power": "1"],
            ["rc_mode": "VBR", "async_depth": "1"],
        ],
        obeysRate: false
    ) {
        // The numbers that Linux gives to render nodes (Documentation/gpu/drm-uapi.rst).
        let nodes = (128..<136).map { "/dev/dri/renderD\($0)" }
        let present = nodes.filter { access($0, F_OK) == 0 }
        guard !present.isEmpty else {
            return .failure(Absence(reason: "there is no graphics processor (/dev/dri/renderD128)"))
        }
        let allowed = present.filter { access($0, R_OK | W_OK) == 0 }
        guard !allowed.isEmpty else {
            return .failure(Absence(reason: "\(present[0]) may not be opened: join the group “render”"))
        }
        return .success(allowed.map { .vaapi(node: $0) })
    }

    /// Of systems on a chip, by Video4Linux.
    static let v4l2 = HardwareEncoderModel(name: "h264_v4l2m2m", variants: [[:]], obeysRate: false) {
        guard (0..<64).contains(where: { access("/dev/video\($0)", F_OK) == 0 }) else {
            return .failure(Absence(reason: "there is no device of Video4Linux (/dev/video0)"))
        }
        return .success([.memory(isNV12: false), .memory(isNV12: true)])
    }
}
