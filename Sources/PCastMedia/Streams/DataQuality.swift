/// How well a stream gets through, for showing to people (seed 004, "Data Quality Feedback", has the matrix).
public struct DataQuality: Hashable, Sendable {
    /// What of the stream arrives (Phenix: `PhenixDataQualityStatus`); less of it is smaller.
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

    /// Everything gets through, and nothing is held back: what holds until something else is known.
    public static let good = DataQuality(status: .all, reason: .none)
}

extension DataQuality.Status: Comparable {
    public static func < (left: DataQuality.Status, right: DataQuality.Status) -> Bool { left.order < right.order }

    private var order: Int {
        switch self {
        case .noData: 0
        case .audioOnly: 1
        case .all: 2
        }
    }
}
