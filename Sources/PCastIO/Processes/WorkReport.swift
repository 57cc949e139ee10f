/// What a worker tells the platform: a line of JSON on its standard output each.
public enum WorkReport: Codable, Hashable, Sendable {
    /// The listener listens, and nobody has come yet.
    case listening
    /// The stream runs.
    case running
    /// For the platform's log.
    case note(String)
    /// It came to its end; a word of a stream's end, and for people why. The last report.
    case ended(reason: String, description: String)

    /// One line, with its end.
    public var line: String { JSONLine.text(self) }

    /// Nil for what is no report.
    public init?(line: String) {
        guard let report = JSONLine.value(WorkReport.self, line) else { return nil }
        self = report
    }
}
