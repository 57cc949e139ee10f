/// The result of a request to the platform or a device (Phenix: `PhenixRequestStatus` with its numbers).
public enum RequestStatus: Int, Sendable, CaseIterable {
    case ok = 200
    /// No stream is available for subscribing.
    case noStreamPlaying = 299
    /// Arguments are missing or invalid. Retry with other ones.
    case badRequest = 400
    /// A new token is required. Do not retry with the same one.
    case unauthorized = 401
    /// The request conflicts with the current state, such as a device that another program uses.
    case conflict = 409
    /// The object no longer exists.
    case gone = 410
    case notInitialized = 412
    case notStarted = 417
    /// The request was rejected because of load. Retry with back-off.
    case rateLimited = 429
    case upgradeRequired = 499
    /// The request failed. Retry once.
    case failed = 500
    /// The request was rejected because of insufficient capacity. Retry with back-off.
    case capacity = 503
    case timeout = 504
    /// The object is not ready yet. Retry.
    case notReady = 599
}
