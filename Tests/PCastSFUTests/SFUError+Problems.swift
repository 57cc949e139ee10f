import PCastSFU
import PCastWebRTC

extension SFUError {
    /// The reasons of the rejected sections; nil for another error.
    var problemCodes: [String]? {
        guard case .unacceptable(let problems) = self else { return nil }
        return problems.map(\.reason.code)
    }
}
