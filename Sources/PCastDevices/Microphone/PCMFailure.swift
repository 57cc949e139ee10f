import CALSA
import Glibc

/// A call of alsa-lib that failed.
struct PCMFailure: Error {
    var call: String
    /// The negative error number.
    var code: Int32

    /// Returns the result, or throws if it is negative.
    @discardableResult
    static func check(_ call: String, _ result: Int32) throws(PCMFailure) -> Int32 {
        guard result >= 0 else { throw PCMFailure(call: call, code: result) }
        return result
    }

    /// Whether the device no longer exists.
    var isDisconnected: Bool { [-ENODEV, -ENOENT, -ENXIO, -ESHUTDOWN].contains(code) }

    /// The call and alsa-lib's description.
    var reason: String { "\(call): \(String(cString: snd_strerror(code)))" }

    /// Returns the error for applications.
    func error(of address: MicrophoneAddress) -> DeviceError {
        let device = address.description
        // alsa-lib reports a card that may not be opened as missing.
        if [-EACCES, -EPERM].contains(code) || isDisconnected && address.isForbidden {
            return .forbidden(device, group: address.group)
        }
        return switch code {
        // EBUSY comes from configuring the device, not from opening it. Some plugins report EAGAIN instead in
        // non-blocking mode.
        case -EBUSY, -EAGAIN: .busy(device)
        case -ECONNREFUSED, -EHOSTDOWN: .faulty(device, reason: "its audio server does not respond")
        case _ where isDisconnected: .notFound(device, lookedIn: "/dev/snd")
        default: .faulty(device, reason: reason)
        }
    }
}
