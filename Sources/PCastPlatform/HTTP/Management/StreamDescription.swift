import PCastCore
import PCastDatabase

/// The JSON form of a live or ended stream in the management API.
struct StreamDescription: Encodable {
    struct Quality: Encodable {
        let status: String
        let reason: String

        init(_ quality: DataQuality) {
            status = quality.status.rawValue
            reason = quality.reason.rawValue
        }
    }

    /// The changes that the publisher should make.
    struct Warning: Encodable {
        let code: String
        let message: String

        init(_ finding: IngestFinding) {
            code = finding.code
            message = finding.description
        }
    }

    /// The format of a video.
    struct Video: Encodable {
        /// The codec string (RFC 6381).
        let codecString: String
        let profile: String
        /// The level and the tier; nil if the bitstream states none.
        let level: String?
        let tier: String?
        /// The number of bits of a sample.
        let bitDepth: Int

        init(_ video: CodecParameters) {
            (codecString, profile, level, tier) = (video.codecString, video.profile, video.level, video.tier)
            bitDepth = video.bitDepth
        }
    }

    /// An audio track that viewers by HLS can choose.
    struct AudioTrack: Encodable {
        /// The name in playlists; nil for a single track without a language.
        let name: String?
        /// The language tag (BCP 47); nil if unknown.
        let language: String?
        /// Whether a speaker describes the video.
        let describesVideo: Bool
    }

    struct Publisher: Encodable {
        /// The protocol: `pcast` for a session of the signaling protocol, `whip`, `rtmp` or `srt`.
        let `protocol`: String
        let address: String?
    }

    let streamId: String
    let sessionId: String?
    let tags: [String]
    let capabilities: [String]
    /// The time in milliseconds since 1970 (UTC).
    let startTime: Int64
    let endTime: Int64?
    /// The duration in milliseconds.
    let duration: Int64?
    let reason: String?
    /// The current number of subscribers.
    let viewers: Int
    /// The number of all viewings.
    let views: Int
    /// The maximum number of simultaneous subscribers.
    let mostViewers: Int
    let hasMedia: Bool
    var dataQuality: Quality?
    /// This and the following properties are nil for an ended stream.
    var publisher: Publisher?
    var codecs: [String]?
    /// The audio tracks, the default first; nil for a publisher that does not describe its audio.
    var audioTracks: [AudioTrack]?
    /// The changes that the publisher should make, because its media cost viewers latency or they cannot decode it.
    var warnings: [Warning]?
    /// The width of the best layer in pixels.
    var width: Int?
    var height: Int?
    /// The format of the best layer of the publisher, which its key frames state; nil before the first one.
    var video: Video?
    /// The bit rate that arrives from the publisher, in bits per second including headers.
    var bitrate: Int64?
    /// The round-trip time to the publisher in milliseconds.
    var roundTrip: Int64?
    /// The loss rate from the publisher in the last second, before retransmission, from 0 to 1.
    var loss: Double?

    init(_ live: LiveStream, viewers: Int, quality: DataQuality? = nil, history: StreamHistory?) {
        self.init(live.record, counts: live.counts, viewers: viewers, hasMedia: live.hasMedia)
        let last = history?.last
        dataQuality = (quality ?? last?.quality).map { Quality($0) }
        publisher = Publisher(
            protocol: live.ingestProtocol?.rawValue ?? (live.session == nil ? "whip" : "pcast"),
            address: live.address?.description)
        codecs = live.codecs.map(\.rawValue)
        if !live.audioTracks.isEmpty {
            let names = AudioTrackDescription.labels(of: live.audioTracks)
            audioTracks = zip(live.audioTracks, names).map { track, name in
                AudioTrack(
                    name: name, language: track.language?.description, describesVideo: track.describesVideo)
            }
        }
        warnings = live.warnings(quality ?? last?.quality).map { Warning($0) }
        width = history?.dimensions?.width
        height = history?.dimensions?.height
        video = history?.video.map { Video($0) }
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
