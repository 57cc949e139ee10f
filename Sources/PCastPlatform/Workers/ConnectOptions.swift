import PCastMedia

/// What a client asks for beside the address (`CreateStream.connectOptions`, `CreateStream.options`).
struct ConnectOptions: Sendable {
    /// Pictures a second at most.
    private(set) var maximumFrameRate: Double?
    /// How much of the beginning is left out.
    private(set) var skip = TimeSpan.zero
    /// Whether the stream outlives its client's session.
    private(set) var isDetached = false
    /// What nobody here knows.
    private(set) var unknown: [String] = []

    /// - Throws: for a value that cannot be read.
    init(_ texts: [String], options: [String]) throws(Refusal) {
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

    private static func refusal(_ name: String) -> Refusal {
        Refusal(.badRequest, "The value of \(name) cannot be used.")
    }
}
