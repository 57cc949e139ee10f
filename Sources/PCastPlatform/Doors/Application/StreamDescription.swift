import PCastMedia
import PCastRecords

/// A stream, live or past, as applications' backends are told of it.
struct StreamDescription: Encodable {
    struct Quality: Encodable {
        let status: String
        let reason: String
    }

    let streamId: String
    let sessionId: String?
    let tags: [String]
    let capabilities: [String]
    /// UTC, milliseconds since the epoch.
    let startTime: Int64
    let endTime: Int64?
    /// Milliseconds.
    let duration: Int64?
    let reason: String?
    /// At the moment.
    let viewers: Int
    /// That ever came.
    let views: Int
    /// At one time.
    let mostViewers: Int
    let hasMedia: Bool
    var dataQuality: Quality?

    init(_ live: LiveStream, viewers: Int, quality: DataQuality? = nil) {
        self.init(live.record, counts: live.counts, viewers: viewers, hasMedia: live.hasMedia)
        dataQuality = quality.map { Quality(status: $0.status.rawValue, reason: $0.reason.rawValue) }
    }

    init(_ past: StreamRecord) {
        self.init(past, counts: past.counts, viewers: 0, hasMedia: false)
    }

    private init(_ record: StreamRecord, counts: ViewerCounts, viewers: Int, hasMedia: Bool) {
        streamId = record.id.description
        sessionId = record.session?.description
        tags = record.tags
        capabilities = record.capabilities
        startTime = (record.started ?? record.starting).millisecondsSinceEpoch
        endTime = record.ended?.millisecondsSinceEpoch
        duration = record.duration.map { Int64($0.milliseconds) }
        reason = record.reason
        self.viewers = viewers
        views = counts.views
        mostViewers = counts.mostViewers
        self.hasMedia = hasMedia
    }
}
