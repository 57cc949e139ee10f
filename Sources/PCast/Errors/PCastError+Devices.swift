import PCastCore
import PCastDevices

extension PCastError {
    /// Creates the error for a source that could not be opened or started.
    init(_ error: DeviceError) {
        let status: RequestStatus =
            switch error {
            case .unusable, .noConstraint: .badRequest
            case .busy: .conflict
            case .notFound, .forbidden, .unmet, .faulty, .unreadable, .noTrack, .misconfigured, .noThread: .failed
            }
        self.init(status, .device, "\(error)")
    }
}
