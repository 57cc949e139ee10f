/// The exit status of the process, for scripts.
enum ExitStatus: Int32, CaseIterable {
    /// The command ended as requested, or because the publisher ended the stream.
    case ended = 0
    case failed = 1
    case unusableArguments = 2
    case notAuthorized = 3
    case nothingToPlay = 4
    case deviceFailure = 5
    case platformUnreachable = 6
    /// The platform ended the stream. The event `ended` contains the reason.
    case endedByPlatform = 7
}
