import PCastMedia
import PCastRecords

/// A stream, live or past, as applications' backends are told of it.
struct StreamDescription: Encodable {
    struct Quality: Encodable {
        let status: String
        let reason: String

        init(_ quality: DataQuality) {
            status = quality.status.rawValue
            reason = quality.reason.rawValue
        }
    }

    struct Publisher: Encodable {
        /// `pcast`, by a session of the protocol, or `whip`.
        let door: String
        let address: String?
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
    /// The rest of a stream that plays alone.
    var publisher: Publisher?
    var codecs: [String]?
    /// Of the best layer.
    var width: Int?
    var height: Int?
    /// What comes of its publisher, in bits a second on the wire.
    var bitrate: Int64?
    /// To the publisher and back, in milliseconds.
    var roundTrip: Int64?
    /// Of what the publisher sent in the last second, before it was sent again; 0 to 1.
    var loss: Double?

    init(_ live: LiveStream, viewers: Int, quality: DataQuality? = nil, history: StreamHistory?) {
        self.init(live.record, counts: live.counts, viewers: viewers, hasMedia: live.hasMedia)
        let last = history?.last
        dataQuality = (quality ?? last?.quality).map { Quality($0) }
        publisher = Publisher(
            door: live.session == nil ? "whip" : "pcast", address: live.publisher?.description)
        codecs = live.codecs.map(\.rawValue)
        width = history?.dimensions?.width
        height = history?.dimensions?.height
        bitrate = last?.bitrate?.bitsPerSecond
        roundTrip = last?.roundTrip.map { Int64($0.milliseconds) }
        loss = last?.loss
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
