/// A report of an ingest or egress process to the platform. Each is one line of JSON on standard output.
public enum JobReport: Codable, Hashable, Sendable {
    /// The process listens, and no peer has connected yet.
    case listening
    /// The stream is live.
    case running
    /// A message for the platform's log.
    case note(String)
    /// The job ended. `reason` is an end reason of a stream, and `description` explains it. It is the last report.
    case ended(reason: String, description: String)

    /// The JSON form with a line feed.
    public var line: String { JSONLine.text(self) }

    /// Parses the JSON form; nil if it is invalid.
    public init?(line: String) {
        guard let report = JSONLine.value(JobReport.self, line) else { return nil }
        self = report
    }
}
