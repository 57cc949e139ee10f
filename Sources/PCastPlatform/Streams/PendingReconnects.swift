import PCastCore
import PCastDatabase

/// The streams and viewings that have lost their media connection and whose clients may reconnect, those that are being
/// resumed, and the requests that wait for them. It receives the time as a parameter.
struct PendingReconnects {
    typealias EndAction = @Sendable (StreamEnd) async -> Void
    typealias InterruptionAction = @Sendable (StreamID) async -> Void

    /// A stream whose publisher may reconnect.
    struct Stream: Sendable {
        /// The stream as it was. Its peer no longer exists.
        var live: LiveStream
        let onEnd: EndAction
        /// The time at which it was last known to be published.
        let lastSeen: WallTime
        let deadline: Instant
        /// The reservation in the quotas; nil for a stream of the previous platform process.
        var reservation: QuotaReservation?
    }

    /// A viewing whose subscriber may reconnect.
    struct Viewing: Sendable {
        let id: StreamID
        let origin: StreamID
        let application: ApplicationID
        /// The only session that may resume the viewing.
        let session: SessionID
        let onEnd: EndAction
        let lastSeen: WallTime
        let deadline: Instant
        /// The reservation in the quotas; nil for a viewing of the previous platform process.
        var reservation: QuotaReservation?
    }

    /// The streams and viewings whose time to reconnect has passed.
    struct ExpiredReconnects: Sendable {
        var streams: [Stream] = []
        var viewings: [Viewing] = []
    }

    /// The maximum number of requests that wait for one stream. Further ones are rejected and may retry.
    private static let waitingRequestLimit = 10_000

    private(set) var streams: [StreamID: Stream] = [:]
    private var index = StreamIndex()
    private(set) var viewings: [StreamID: Viewing] = [:]
    /// The streams that are being resumed.
    private(set) var resuming: Set<StreamID> = []
    private var waitingRequests: [StreamID: [Int: CheckedContinuation<Void, Never>]] = [:]
    private var nextWaitingRequest = 0

    var isEmpty: Bool { streams.isEmpty && viewings.isEmpty }

    mutating func add(_ stream: Stream) {
        _ = take(stream: stream.live.id)
        streams[stream.live.id] = stream
        index.insert(stream.live)
    }

    mutating func add(_ viewing: Viewing) { viewings[viewing.id] = viewing }

    mutating func take(stream id: StreamID) -> Stream? {
        guard let stream = streams.removeValue(forKey: id) else { return nil }
        index.remove(stream.live)
        return stream
    }

    mutating func take(viewing id: StreamID) -> Viewing? { viewings.removeValue(forKey: id) }

    /// Removes and returns the viewings of a stream.
    mutating func takeViewings(of origin: StreamID) -> [Viewing] {
        let found = viewings.values.filter { $0.origin == origin }
        for viewing in found { viewings[viewing.id] = nil }
        return found
    }

    /// Returns the newest stream of a key; nil if there is none.
    func newest(_ key: StreamIndex.Key) -> LiveStream? { index.newest(key).flatMap { streams[$0]?.live } }

    /// Removes and returns the streams and viewings whose time has passed. The viewings of such a stream end with it.
    mutating func takeOverdue(at now: Instant) -> ExpiredReconnects {
        var overdue = ExpiredReconnects()
        for stream in streams.values where stream.deadline <= now {
            _ = take(stream: stream.live.id)
            overdue.streams.append(stream)
            overdue.viewings += takeViewings(of: stream.live.id)
        }
        for viewing in viewings.values where viewing.deadline <= now {
            viewings[viewing.id] = nil
            overdue.viewings.append(viewing)
        }
        return overdue
    }

    // MARK: Resuming

    /// Whether a stream waits for its publisher, or is being resumed.
    func isReconnecting(_ id: StreamID) -> Bool { streams[id] != nil || resuming.contains(id) }

    /// Records that a stream is being resumed.
    mutating func beginResuming(_ id: StreamID) { resuming.insert(id) }

    /// Records that a stream is not being resumed any more, and resumes the requests that wait for it.
    mutating func endResuming(_ id: StreamID) {
        resuming.remove(id)
        resumeRequests(for: id)
    }

    // MARK: Waiting requests

    /// Returns the number of a new request that waits for a stream; nil if too many do.
    mutating func newRequest(for id: StreamID) -> Int? {
        guard waitingRequests[id]?.count ?? 0 < Self.waitingRequestLimit else { return nil }
        nextWaitingRequest += 1
        return nextWaitingRequest
    }

    /// Adds a request that waits until its continuation is resumed.
    mutating func add(_ continuation: CheckedContinuation<Void, Never>, request: Int, for id: StreamID) {
        waitingRequests[id, default: [:]][request] = continuation
    }

    /// Resumes a request, because its time has passed.
    mutating func resumeRequest(_ request: Int, for id: StreamID) {
        waitingRequests[id]?.removeValue(forKey: request)?.resume()
    }

    /// Resumes the requests that wait for a stream, because it was resumed or has ended.
    mutating func resumeRequests(for id: StreamID) {
        for request in waitingRequests.removeValue(forKey: id) ?? [:] { request.value.resume() }
    }
}

/// An event of a participant.
enum StreamUpdate: Sendable {
    /// The current data quality, and what a publisher should change; and each change of them.
    case quality(DataQuality, warnings: [IngestFinding])
    /// Captions of the stream that is viewed, by the platform's capture clock.
    case captions([CaptionCue])
    /// Whether packets of the stream that is viewed arrive from its publisher.
    case activity(Bool)
    /// The client should connect again, because the platform is about to end the viewing.
    case reconnect
    /// The publisher should send the stream in this codec, too, with a key; or stop that, if both are nil.
    case secondCodec(Codec?, key: String?)
    /// The end, which is the last event.
    case ended(StreamEnd)
}

/// The streams and viewings of a killed platform process that their clients may resume.
struct InterruptedStreams: Sendable {
    var streams: [StreamRecord] = []
    /// The viewings of those streams that belong to a session.
    var viewings: [ViewingRecord] = []
    /// The time at which that process was last known to be running.
    let lastSeen: WallTime

    init(lastSeen: WallTime) { self.lastSeen = lastSeen }

    /// Creates the value from the open streams and viewings. Streams of ingest jobs are left out, because these ended
    /// with the process.
    init(_ streams: [StreamRecord], _ viewings: [ViewingRecord], lastSeen: WallTime) {
        self.streams = streams.filter { $0.publisher != nil }
        let kept = Set(self.streams.map(\.id))
        self.viewings = viewings.filter { kept.contains($0.stream) }
        self.lastSeen = lastSeen
    }

    /// The streams and viewings of each session.
    var bySession: [SessionID: Set<StreamID>] {
        var found: [SessionID: Set<StreamID>] = [:]
        for stream in streams { if let session = stream.session { found[session, default: []].insert(stream.id) } }
        for viewing in viewings { if let session = viewing.session { found[session, default: []].insert(viewing.id) } }
        return found
    }
}
