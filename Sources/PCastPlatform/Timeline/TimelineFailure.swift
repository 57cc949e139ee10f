import PCastTimeline

/// Why a timeline cannot be kept or read.
enum TimelineFailure: Error, Sendable {
    /// The request is not to be done, whoever asks.
    case request(TimelineError)
    /// The log cannot be read or written: where, and why. For the log; a producer is told to try again.
    case log(path: String, reason: String)
    /// As many games as there may be are being followed.
    case capacity
}
