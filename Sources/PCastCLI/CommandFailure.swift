/// Ends a command with a status, and with a sentence that says what to do next.
struct CommandFailure: Error, Equatable {
    let status: ExitStatus
    /// Nil where the person was told already.
    let sentence: String?

    static let needsToken = CommandFailure(
        .notAuthorized, "That platform needs a token: give --token; “pcast token create” makes one.")

    init(_ status: ExitStatus, _ sentence: String? = nil) {
        self.status = status
        self.sentence = sentence
    }

    /// What an error says of itself, made a sentence.
    init(_ status: ExitStatus, describing error: any Error, after beginning: String = "") {
        let text = beginning + "\(error)"
        let isWhole = text.last.map { ".?!".contains($0) } ?? false
        // A text may begin with the name of a file, which stays as it is.
        let beginsWithWord = text.prefix { $0 != " " }.allSatisfy(\.isLetter)
        let first = text.prefix(1)
        self.init(
            status, (beginsWithWord ? first.uppercased() : String(first)) + text.dropFirst() + (isWhole ? "" : "."))
    }
}
