import PCastCore

/// The options of a stream from or to a URI (`CreateStream.connectOptions` and `CreateStream.options`).
struct StreamURIOptions: Sendable {
    /// The maximum frame rate in frames per second; nil for no limit.
    private(set) var maximumFrameRate: Double?
    /// The duration at the beginning of the media that is skipped.
    private(set) var skip = TimeSpan.zero
    /// Whether the stream continues after its client's session has ended.
    private(set) var isDetached = false
    /// The unknown options.
    private(set) var unknown: [String] = []

    /// Parses options.
    ///
    /// - Throws: ``APIError`` if a value is invalid.
    init(_ texts: [String], options: [String]) throws(APIError) {
        isDetached = options.contains("detached")
        for text in texts {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let value = parts.count > 1 ? parts[1] : ""
            switch parts[0] {
            case "source-uri-video-fps", "source-uri-video-fps-max":
                guard let rate = Double(value), (1...120).contains(rate) else { throw Self.refusal(parts[0]) }
                maximumFrameRate = min(maximumFrameRate ?? rate, rate)
            case "source-uri-preroll-skip-duration":
                guard let milliseconds = Int64(value), (0...60_000).contains(milliseconds) else {
                    throw Self.refusal(parts[0])
                }
                skip = .milliseconds(milliseconds)
            case "detached": isDetached = value.isEmpty || value == "true"
            default: unknown.append(parts[0])
            }
        }
    }

    private static func refusal(_ name: String) -> APIError {
        APIError(.badRequest, "The value of the connect option \(name) is invalid.")
    }
}
