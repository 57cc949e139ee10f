/// What the process exits with, for scripts to tell apart.
enum ExitStatus: Int32, CaseIterable {
    /// As asked, or because the publisher ended.
    case ended = 0
    case failed = 1
    case unusableArguments = 2
    case notAuthorized = 3
    case nothingToPlay = 4
    case deviceTrouble = 5
    case platformUnreachable = 6
    /// The platform ended the stream; why is in the event `ended`.
    case endedByPlatform = 7
}
