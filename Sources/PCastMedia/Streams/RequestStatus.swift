/// How a request to the platform or to a device ended (Phenix: `PhenixRequestStatus`, with its numbers).
public enum RequestStatus: Int, Sendable, CaseIterable {
    case ok = 200
    /// No stream is available to subscribe to.
    case noStreamPlaying = 299
    /// Missing or invalid arguments; try again with others.
    case badRequest = 400
    /// A new token is required; do not retry with this one.
    case unauthorized = 401
    /// In conflict with the current state, such as a device that another program uses.
    case conflict = 409
    /// No longer available.
    case gone = 410
    case notInitialized = 412
    case notStarted = 417
    /// Refused because of load; retry with back-off.
    case rateLimited = 429
    case upgradeRequired = 499
    /// Failed; retry once.
    case failed = 500
    /// Refused for want of capacity; retry with back-off.
    case capacity = 503
    case timeout = 504
    /// Not ready yet; retry.
    case notReady = 599
}
