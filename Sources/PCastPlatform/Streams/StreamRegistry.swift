import PCastCore
import PCastSFU
import PCastWebRTC

/// The published streams, and the clients that publish and receive them. It calls neither the SFU nor clients, and it
/// does not decide who may join (``JoinPolicy``).
struct StreamRegistry {
    /// A client with a media connection, as the publisher or a subscriber of a stream.
    struct Participant {
        let streamID: StreamID
        let origin: StreamID
        let isPublisher: Bool
        /// Whether this is a preview on the dashboard, which does not count as a viewing.
        let isPreview: Bool
        let onEnd: @Sendable (StreamEnd) async -> Void
        /// The reservation in the quotas.
        let reservation: QuotaReservation
        /// The session that may resume the viewing, and the function that notifies it; nil if nobody may.
        var reconnection: (session: SessionID, onInterruption: PendingReconnects.InterruptionAction)?
        /// Whether a client's session may give the reason of its end; see `noteClosed`.
        let hasSession: Bool
        /// Its media connection is closed, and the reason may still come.
        fileprivate(set) var isClosed = false
        /// Whether no packets arrive at the moment.
        var isAway = false
        /// Whether this process sends the media of a viewing, and not the SFU.
        var isLocal = false
        /// The base of the answer to an ICE restart: the platform's answer, or its offer in the form of an answer.
        var answer: SessionDescription?
        /// The platform's offer that is not answered yet; nil if there is none.
        var offer: SessionDescription?
        let onQuality: StreamDirectory.QualityAction
        var quality = DataQuality.good
        /// The time of the last change of `quality`; nil if there was none.
        var qualitySince: WallTime?
        /// The address of a subscriber's client; nil if it is unknown or a job of the platform.
        var address: IPAddress?
        var listeners: [Int: AsyncStream<StreamUpdate>.Continuation] = [:]
        /// Whether a listener passes the request to connect again on to the client.
        var receivesReconnect = false
        /// Whether a publisher follows requests for a second codec.
        var acceptsSecondCodec = false
        /// The key by which the token of the client can be revoked; nil if it cannot.
        var revocationKey: String?
        /// The time at which the client was requested to connect to another node; nil if it was not.
        var movedSince: Instant?
        /// Receives the captions of a viewing; nil if its client does not request them.
        var onCaptions: StreamDirectory.CaptionAction?
        let entered: Instant
        /// The spans until it has joined; nil for a participant without a media connection.
        var trace: JoinTrace?
        /// The reason given by the client or job that ended it intentionally.
        var ending: (reason: StreamEndedReason, description: String)?

        /// Whether this is a subscriber that counts. Previews on the dashboard do not.
        var isViewer: Bool { !isPublisher && !isPreview }
    }

    /// The maximum number of listeners of a participant.
    private static let listenerLimit = 8

    private(set) var streams: [StreamID: LiveStream] = [:]
    private(set) var participants: [PeerID: Participant] = [:]
    /// The streams that viewers receive by names. A pulled stream precedes the publication of this node.
    private(set) var namedStreams: [StreamID: StreamID] = [:]
    /// The declared streams of this node, by their names.
    private(set) var ownStreams: [StreamID: StreamID] = [:]
    /// The participant of each stream and viewing.
    private(set) var peers: [StreamID: PeerID] = [:]
    /// The subscribers of each stream, including previews. A stream without subscribers has no entry.
    private(set) var subscribers: [StreamID: Set<PeerID>] = [:]
    /// The streams that a subscriber may receive.
    private(set) var subscribableStreams = StreamIndex()
    /// The streams that a client may request.
    let available: AvailableStreams
    /// The streams that their publishers may resume.
    private(set) var resumableStreams = StreamIndex()
    /// The newest streams that have ended.
    private var endedStreams = EndedStreams()
    /// The numbers of subscribers, which are updated incrementally because there may be thousands.
    private var viewing = SubscriberCounter()
    private var nextPeer: UInt64 = 1
    private var nextOrdinal = 0
    private var nextListener = 0

    /// Creates a registry without streams. `available` is kept up to date.
    init(available: AvailableStreams = AvailableStreams()) { self.available = available }

    // MARK: Participants

    /// Adds a publisher or subscriber. Returns its number at the SFU.
    mutating func enter(
        _ id: StreamID, _ reservation: QuotaReservation, origin: StreamID, isPublisher: Bool, isPreview: Bool = false,
        hasSession: Bool = false, at now: Instant, onEnd: @escaping @Sendable (StreamEnd) async -> Void,
        onQuality: @escaping StreamDirectory.QualityAction
    ) -> PeerID {
        let peer = PeerID(nextPeer)
        nextPeer += 1
        let participant = Participant(
            streamID: id, origin: origin, isPublisher: isPublisher, isPreview: isPreview, onEnd: onEnd,
            reservation: reservation, hasSession: hasSession, onQuality: onQuality, entered: now)
        participants[peer] = participant
        peers[id] = peer
        if !isPublisher { subscribers[origin, default: []].insert(peer) }
        if participant.isViewer { viewing.enter(origin) }
        return peer
    }

    /// Removes a publisher with its stream, or a subscriber, and returns it. Returns nil if it has left already.
    @discardableResult
    mutating func leave(_ peer: PeerID) -> Participant? {
        guard let participant = participants.removeValue(forKey: peer) else { return nil }
        peers[participant.streamID] = nil
        for listener in participant.listeners.values { listener.finish() }
        if participant.isPublisher {
            guard let stream = streams.removeValue(forKey: participant.streamID) else { return participant }
            subscribableStreams.remove(stream)
            available.remove(stream)
            resumableStreams.remove(stream)
            if case .named(let name) = stream.place {
                ownStreams[StreamID(name)] = nil
                if namedStreams[StreamID(name)] == stream.id { namedStreams[StreamID(name)] = nil }
            }
            for name in stream.requestedNames where namedStreams[name] == stream.id {
                namedStreams[name] = ownStreams[name]
            }
        } else {
            subscribers[participant.origin]?.remove(peer)
            if subscribers[participant.origin]?.isEmpty == true { subscribers[participant.origin] = nil }
            if participant.isViewer { viewing.leave(participant.origin) }
        }
        return participant
    }

    /// Changes a participant. It has no effect if it has left.
    mutating func update(_ peer: PeerID, _ change: (inout Participant) -> Void) {
        guard participants[peer] != nil else { return }
        change(&participants[peer]!)
    }

    /// Records that the media connection of a participant is closed, while the reason is awaited.
    mutating func close(_ peer: PeerID) {
        guard let participant = participants[peer] else { return }
        participants[peer]?.isClosed = true
        updateIndexes(of: participant.streamID)
    }

    /// Adds a listener to a participant, and returns its number. Returns nil if the participant has left or has too many.
    mutating func add(_ listener: AsyncStream<StreamUpdate>.Continuation, to peer: PeerID) -> Int? {
        guard let participant = participants[peer], participant.listeners.count < Self.listenerLimit else { return nil }
        nextListener += 1
        participants[peer]?.listeners[nextListener] = listener
        return nextListener
    }

    /// Returns the participant of a stream or viewing; nil if there is none.
    func participant(of id: StreamID) -> Participant? { peers[id].flatMap { participants[$0] } }

    // MARK: Streams

    /// Returns the order of the next stream.
    mutating func takeOrdinal() -> Int {
        defer { nextOrdinal += 1 }
        return nextOrdinal
    }

    /// Adds a stream whose publisher has entered.
    mutating func add(_ stream: LiveStream) {
        streams[stream.id] = stream
        if case .named(let name) = stream.place {
            ownStreams[StreamID(name)] = stream.id
            // The viewers of a pulled stream and those that join it receive the same publication.
            if namedStreams[StreamID(name)] == nil { namedStreams[StreamID(name)] = stream.id }
        }
        updateIndexes(of: stream.id)
    }

    /// Adds a name of a pulled stream. It has no effect for the stream's identifier, and for a name of another pulled
    /// stream.
    mutating func add(name: StreamID, of id: StreamID) {
        guard name != id, namedStreams[name] == nil || namedStreams[name] == ownStreams[name], streams[id] != nil
        else { return }
        namedStreams[name] = id
        streams[id]?.requestedNames.insert(name)
    }

    /// Changes the tags of a stream, by which viewers find it.
    mutating func setTags(_ tags: StreamTags, of id: StreamID) {
        guard let stream = streams[id] else { return }
        subscribableStreams.remove(stream)
        resumableStreams.remove(stream)
        streams[id]?.setTags(tags)
        updateIndexes(of: id)
    }

    /// Returns the stream that a viewer receives who requests an identifier, which may be the name of a declared stream.
    func resolve(_ requested: StreamID) -> StreamID { namedStreams[requested] ?? requested }

    /// Returns the stream that a request of another node or of the management names: the publication of this node, also
    /// while viewers receive another one by its name.
    func resolveOwn(_ requested: StreamID) -> StreamID { ownStreams[requested] ?? resolve(requested) }

    /// Changes a stream. It has no effect if the stream has ended.
    mutating func update<Failure>(
        _ id: StreamID, _ change: (inout LiveStream) throws(Failure) -> Void
    ) throws(Failure) {
        guard let before = streams[id] else { return }
        try change(&streams[id]!)
        guard let after = streams[id],
            (before.isAwaitingAnswer, before.isEndRecorded) != (after.isAwaitingAnswer, after.isEndRecorded)
        else { return }
        updateIndexes(of: id)
    }

    /// Updates the indexes. A subscriber can receive a stream that is negotiated and whose media connection is not
    /// closed.
    private mutating func updateIndexes(of id: StreamID) {
        guard let stream = streams[id] else { return }
        // The stream of a channel is received by the channel's name only.
        if isAvailable(stream), !stream.place.isPublisher, !stream.place.isChannel {
            subscribableStreams.insert(stream)
        } else {
            subscribableStreams.remove(stream)
        }
        if isAvailable(stream) { available.insert(stream) } else { available.remove(stream) }
        if isResumable(stream) { resumableStreams.insert(stream) } else { resumableStreams.remove(stream) }
    }

    /// Whether the media connection of a stream's publisher is closed.
    private func isClosed(_ stream: LiveStream) -> Bool { participants[stream.peer]?.isClosed ?? false }

    /// Whether a subscriber can receive a stream.
    func isAvailable(_ stream: LiveStream) -> Bool { !stream.isAwaitingAnswer && !isClosed(stream) }

    /// Whether a publisher can resume a stream.
    func isResumable(_ stream: LiveStream) -> Bool { !stream.isEndRecorded && !isClosed(stream) }

    /// Records the end of a stream, which its publisher cannot resume any more.
    mutating func note(_ end: StreamEnd, of application: ApplicationID) {
        endedStreams.insert(end.streamID, of: application, end)
    }

    // MARK: Queries

    /// Returns whether a stream of an application has ended and was not forgotten since.
    func hasEnded(_ id: StreamID, of application: ApplicationID) -> Bool {
        if let stream = streams[id] { return stream.application == application && stream.isEndRecorded }
        return endedStreams.contains(id, of: application)
    }

    /// Returns the end of a stream of an application; nil if it has not ended, or was forgotten since.
    func end(of id: StreamID, _ application: ApplicationID) -> StreamEnd? {
        endedStreams.end(of: id, application)
    }

    /// Returns the newest stream of a key that a subscriber may receive; nil if there is none.
    func newestSubscribable(_ key: StreamIndex.Key) -> LiveStream? {
        subscribableStreams.newest(key).flatMap { streams[$0] }
    }

    /// Returns the newest stream of a key that its publisher may resume; nil if there is none.
    func newestResumable(_ key: StreamIndex.Key) -> LiveStream? { resumableStreams.newest(key).flatMap { streams[$0] } }

    /// Returns the streams of an application, oldest first, with their numbers of subscribers.
    func list(_ application: ApplicationID) -> [(stream: LiveStream, viewers: Int)] {
        streams.values.filter { $0.application == application }
            .sorted { $0.ordinal < $1.ordinal }
            .map { stream in (stream, viewers(of: stream.id)) }
    }

    /// Returns the number of subscribers of a stream.
    func viewers(of stream: StreamID) -> Int { viewing.count(of: stream) }

    /// The current numbers of streams and subscribers.
    var counts: (streams: Int, viewers: Int) { (streams.count, viewing.count) }

    /// The current numbers of streams and subscribers of each application that has a stream.
    var countsOfApplications: [ApplicationID: (streams: Int, viewers: Int)] {
        var counts: [ApplicationID: (streams: Int, viewers: Int)] = [:]
        for stream in streams.values {
            counts[stream.application, default: (0, 0)].streams += 1
            counts[stream.application, default: (0, 0)].viewers += viewers(of: stream.id)
        }
        return counts
    }
}

/// The newest streams that have ended. The oldest one is forgotten if there are more than ``capacity``.
struct EndedStreams: Sendable {
    static let capacity = 4_096

    private var entries: [StreamID: (application: ApplicationID, end: StreamEnd?)] = [:]
    private var order: [StreamID] = []
    /// The position of the oldest stream.
    private var oldest = 0

    /// Adds a stream. It has no effect if the stream is present.
    mutating func insert(_ id: StreamID, of application: ApplicationID, _ end: StreamEnd? = nil) {
        guard entries[id] == nil else { return }
        entries[id] = (application, end)
        guard order.count == Self.capacity else { return order.append(id) }
        entries[order[oldest]] = nil
        order[oldest] = id
        oldest = (oldest + 1) % Self.capacity
    }

    func contains(_ id: StreamID, of application: ApplicationID) -> Bool { entries[id]?.application == application }

    /// Returns the end of a stream; nil if it is unknown.
    func end(of id: StreamID, _ application: ApplicationID) -> StreamEnd? {
        guard let entry = entries[id], entry.application == application else { return nil }
        return entry.end
    }
}
