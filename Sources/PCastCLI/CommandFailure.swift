/// An error that ends a command with a status and a message that says what to do.
struct CommandFailure: Error, Equatable {
    let status: ExitStatus
    /// The message; nil if it was printed already.
    let sentence: String?

    static let needsToken = CommandFailure(
        .notAuthorized, "The platform requires a token: give --token. “pcast token create” creates one.")

    static let terminalAndJSON = CommandFailure(
        .unusableArguments,
        "--render terminal and --json both write to this terminal: redirect standard output.")

    init(_ status: ExitStatus, _ sentence: String? = nil) {
        self.status = status
        self.sentence = sentence
    }

    /// Creates an error whose message is the text of another error as a sentence.
    init(_ status: ExitStatus, describing error: any Error, after beginning: String = "") {
        let text = beginning + "\(error)"
        let endsWithPeriod = text.last.map { ".?!".contains($0) } ?? false
        // A text may begin with a file name, whose case must not change.
        let beginsWithWord = text.prefix { $0 != " " }.allSatisfy(\.isLetter)
        let first = text.prefix(1)
        self.init(
            status,
            (beginsWithWord ? first.uppercased() : String(first)) + text.dropFirst() + (endsWithPeriod ? "" : "."))
    }
}

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
