import Foundation

/// The job of an ingest or egress process. It is one line of JSON on standard input, because command lines are visible
/// to other users.
public struct IngestJob: Codable, Hashable, Sendable {
    /// The kind of job.
    public enum Kind: String, Codable, Sendable {
        /// An ingest job pulls the URI and publishes its media.
        case publish
        /// An egress job subscribes to the stream and pushes it to the URI.
        case egress
    }

    /// The kind of job.
    public var kind: Kind
    /// The URI of the external media, which may contain a password.
    public var uri: String
    /// The platform's URI for its own programs.
    public var platform: String
    /// The token, which is valid for this stream only.
    public var credential: String
    /// The stream to push; nil for an ingest job.
    public var stream: String?
    /// The address to listen on instead of all addresses; nil if the URI is connected to.
    public var listen: String?
    /// The networks that are permitted although they are not public, such as `10.0.0.0/8`.
    public var networks: [String] = []
    /// The folder in which files may be read or written; nil if there is none.
    public var folder: String?
    /// The platform's port for media.
    public var mediaPort: UInt16?
    /// The address of a proxy that only forwards to the URI's address; nil if the job has none.
    public var guardAddress: String?
    /// The maximum frame rate in frames per second; nil for no limit.
    public var maximumFrameRate: Double?
    /// The duration at the beginning of the media that is skipped.
    public var skippedMilliseconds: Int = 0
    /// Whether a file is played in a loop.
    public var isLooping = false
    /// Whether H.265 is published as it is, if it has no B-frames.
    public var passesH265 = false

    /// Creates a job.
    public init(kind: Kind, uri: String, platform: String, credential: String) {
        self.kind = kind
        self.uri = uri
        self.platform = platform
        self.credential = credential
    }

    /// The JSON form with a line feed.
    public var line: String { JSONLine.text(self) }

    /// Parses the JSON form; nil if it is invalid.
    public init?(line: String) {
        guard let order = JSONLine.value(IngestJob.self, line) else { return nil }
        self = order
    }
}

/// A report of an ingest or egress process to the platform. Each is one line of JSON on standard output.
public enum JobReport: Codable, Hashable, Sendable {
    /// The process has started, and opens the media.
    case opening
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

/// Values as lines of JSON, which two processes of the same program exchange.
enum JSONLine {
    static func text(_ value: some Encodable) -> String {
        guard let data = try? JSONEncoder().encode(value) else {
            preconditionFailure("the value must be encodable as JSON")
        }
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    static func value<Value: Decodable>(_ type: Value.Type, _ line: String) -> Value? {
        try? JSONDecoder().decode(type, from: Data(line.utf8))
    }
}
