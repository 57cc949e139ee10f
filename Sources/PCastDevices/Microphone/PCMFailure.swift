import CALSA
import Glibc

/// A call of alsa-lib that failed.
struct PCMFailure: Error {
    var call: String
    /// Negative.
    var code: Int32

    /// Throws for what alsa-lib calls an error: a negative number.
    @discardableResult
    static func check(_ call: String, _ result: Int32) throws(PCMFailure) -> Int32 {
        guard result >= 0 else { throw PCMFailure(call: call, code: result) }
        return result
    }

    /// Whether the device is no longer there.
    var isVanished: Bool { [-ENODEV, -ENOENT, -ENXIO, -ESHUTDOWN].contains(code) }

    /// alsa-lib's words.
    var reason: String { "\(call): \(String(cString: snd_strerror(code)))" }

    /// As an error of a device.
    func error(of address: MicrophoneAddress) -> DeviceError {
        let device = address.description
        // To alsa-lib, a card that may not be opened is none.
        if [-EACCES, -EPERM].contains(code) || isVanished && address.isForbidden {
            return .forbidden(device, group: address.group)
        }
        return switch code {
        // Without waiting, a device that another program has is "again" to some plugins (COD9).
        case -EBUSY, -EAGAIN: .busy(device)
        case -ECONNREFUSED, -EHOSTDOWN: .faulty(device, reason: "its sound server does not answer")
        case _ where isVanished: .notFound(device, lookedIn: "/dev/snd")
        default: .faulty(device, reason: reason)
        }
    }
}
