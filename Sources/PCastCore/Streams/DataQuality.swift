/// The quality of a stream's delivery, as it is shown to users.
public struct DataQuality: Hashable, Sendable {
    /// The part of the stream that arrives (Phenix: `PhenixDataQualityStatus`). A smaller part is less.
    public enum Status: String, Hashable, Sendable, CaseIterable {
        case noData = "no-data"
        case audioOnly = "audio-only"
        case all
    }

    /// The reason why the rest does not arrive (Phenix: `PhenixDataQualityReason`).
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        case none
        /// The publisher's uplink is the limit.
        case uploadLimited = "upload-limited"
        /// The subscriber's downlink is the limit.
        case downloadLimited = "download-limited"
        /// The publisher sends less. Only subscribers receive this reason.
        case publisherLimited = "publisher-limited"
        /// The limit is shared with others, such as many subscribers of a stream with one bit rate.
        case networkLimited = "network-limited"
    }

    /// The part of the stream that arrives.
    public var status: Status
    /// The reason why the rest does not arrive.
    public var reason: Reason

    /// Creates a value from status and reason.
    public init(status: Status, reason: Reason) {
        self.status = status
        self.reason = reason
    }

    /// All media arrives and nothing is limited. It is the value until another is known.
    public static let good = DataQuality(status: .all, reason: .none)
}

extension DataQuality.Status: Comparable {
    /// Returns whether less of the stream is available with the left status.
    public static func < (left: DataQuality.Status, right: DataQuality.Status) -> Bool { left.order < right.order }

    private var order: Int {
        switch self {
        case .noData: 0
        case .audioOnly: 1
        case .all: 2
        }
    }
}
