import PCastCore
import PCastSignaling

extension DataQuality {
    /// Creates the data quality of a signaling message.
    init(_ message: PCastStreamDataQuality) {
        let status: Status =
            switch message.status {
            case .noData: .noData
            case .audioOnly: .audioOnly
            case .all: .all
            }
        let reason: Reason =
            switch message.reason {
            case .none: .none
            case .uploadLimited: .uploadLimited
            case .downloadLimited: .downloadLimited
            case .publisherLimited: .publisherLimited
            case .networkLimited: .networkLimited
            }
        self.init(status: status, reason: reason)
    }
}
