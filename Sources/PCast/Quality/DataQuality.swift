import PCastSignaling

/// How well a stream gets through, for showing to people (seed 004, "Data Quality Feedback", has the matrix).
public struct DataQuality: Hashable, Sendable {
    /// What of the stream arrives (Phenix: `PhenixDataQualityStatus`).
    public enum Status: String, Hashable, Sendable, CaseIterable {
        case noData = "no-data"
        case audioOnly = "audio-only"
        case all
    }

    /// What holds the rest back (Phenix: `PhenixDataQualityReason`).
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        case none
        /// The publisher's uplink.
        case uploadLimited = "upload-limited"
        /// The viewer's downlink.
        case downloadLimited = "download-limited"
        /// Told to viewers: the publisher sends less.
        case publisherLimited = "publisher-limited"
        /// Others share the limit, such as many viewers of a stream with one bitrate.
        case networkLimited = "network-limited"
    }

    public var status: Status
    public var reason: Reason

    public init(status: Status, reason: Reason) {
        self.status = status
        self.reason = reason
    }

    init(_ message: PCastStreamDataQuality) {
        status =
            switch message.status {
            case .noData: .noData
            case .audioOnly: .audioOnly
            case .all: .all
            }
        reason =
            switch message.reason {
            case .none: .none
            case .uploadLimited: .uploadLimited
            case .downloadLimited: .downloadLimited
            case .publisherLimited: .publisherLimited
            case .networkLimited: .networkLimited
            }
    }
}
