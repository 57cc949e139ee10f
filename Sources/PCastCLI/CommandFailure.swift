/// Ends a command with a status, and with a sentence that says what to do next.
struct CommandFailure: Error, Equatable {
    let status: ExitStatus
    /// Nil where the person was told already.
    let sentence: String?

    init(_ status: ExitStatus, _ sentence: String? = nil) {
        self.status = status
        self.sentence = sentence
    }
}
