import PCastTimeline

/// The reason why a timeline cannot be written or read.
enum TimelineFailure: Error, Sendable {
    /// The request is invalid.
    case request(TimelineError)
    /// The log at this path cannot be read or written. The reason is for the log; a producer may retry.
    case log(path: String, reason: String)
    /// The maximum number of games is in use.
    case capacity
}
