import Logging
import PCastEdgeAuth
import PCastIO
import PCastMedia
import PCastRecords
import PCastRelay
import PCastWebRTC

/// Who publishes what, and who watches it.
actor StreamDirectory {
    /// Told each change of a participation's data quality.
    typealias QualityAction = @Sendable (StreamID, DataQuality) async -> Void

    struct Participant {
        let streamID: StreamID
        let origin: StreamID
        let isPublisher: Bool
        let onEnd: @Sendable (StreamEnd) async -> Void
        /// Who may set it up again when its media connection is lost, and how that one is told; nil for nobody.
        var returning: (session: SessionID, onInterruption: AwaitedStreams.InterruptionAction)?
        /// Nothing is heard of it for the moment.
        var isAway = false

        /// Its place among those that there may be.
        let seat: Seat
        /// What a restart's answer is made of.
        var answer: SessionDescription?
        let onQuality: QualityAction
        var quality = DataQuality.good
        var listeners: [Int: AsyncStream<StreamNews>.Continuation] = [:]
        let entered: Instant
        /// The words of whoever ended it on purpose.
        var ending: (reason: StreamEndedReason, description: String)?
    }

    let router: MediaRouter
    let gatekeeper: Gatekeeper
    let journal: Journal
    private let admission: Admission
    private let statistics: PlatformStatistics
    let logger: Logger
    var streams: [StreamID: LiveStream] = [:]
    var participants: [PeerID: Participant] = [:]
    var peers: [StreamID: PeerID] = [:]
    /// What of the bitrate each publisher may have.
    var shares = BitrateShares()
    private var nextPeer: UInt64 = 1
    var nextOrdinal = 0
    private var nextListener = 0
    /// Ends a stream of which there is nothing yet but who works on it.
    private var endWaiting: (@Sendable (StreamID, ApplicationID?, StreamEndedReason, String) async -> Bool)?
    /// What is to come back, for how long that is waited for, and who else waits for it.
    var awaited = AwaitedStreams()
    let returnTime: TimeSpan
    var arrivals: [StreamID: [Int: CheckedContinuation<Void, Never>]] = [:]
    var nextArrival = 0
    /// Streams whose publisher is being let in again.
    var returning: Set<StreamID> = []

    /// Changes that wait for who follows a participation's data quality, and how many may follow one.
    private static let qualityBacklog = 16
    private static let listenerLimit = 8

    init(
        router: MediaRouter, gatekeeper: Gatekeeper, journal: Journal, admission: Admission,
        statistics: PlatformStatistics, returnTime: TimeSpan = PlatformConfiguration.defaultReturnTime,
        logger: Logger
    ) {
        self.returnTime = returnTime
        self.router = router
        self.gatekeeper = gatekeeper
        self.journal = journal
        self.admission = admission
        self.statistics = statistics
        self.logger = logger
    }

    /// Has streams ended too that do not flow yet.
    func endsWaiting(
        _ end: @escaping @Sendable (StreamID, ApplicationID?, StreamEndedReason, _ description: String) async -> Bool
    ) { endWaiting = end }

    // MARK: Joining

    /// Lets a publisher in. That it has started is recorded, and with it to be told to the application's backend, before
    /// this returns.
    ///
    /// - Parameters:
    ///   - asked: which stream it goes on with; nil for a new one.
    ///   - onEnd: called once, when the stream has ended.
    ///   - onQuality: called at each change of the data quality.
    func publish(
        _ grant: Grant, visitor: Visitor, offer: SessionDescription, tags: [String],
        returning asked: StreamReturn? = nil,
        onEnd: @escaping @Sendable (StreamEnd) async -> Void,
        onQuality: @escaping QualityAction = { _, _ in }
    ) async throws(Refusal) -> Participation {
        if let former = try await takeOver(asked, grant, visitor, tags: tags) {
            return try await goOn(with: former, grant, visitor, offer, onEnd: onEnd, onQuality: onQuality)
        }
        try gatekeeper.authorize(grant, for: .publish, visitor: visitor)
        let seat = try seat(.stream, grant, visitor)
        guard shares.hasRoom(grant.application, seat.block, in: admission.limits) else { throw .noBitrate }
        let id = grant.work?.stream ?? StreamID(RandomIdentifier.make(prefix: "stream-"))
        guard peers[id] == nil else { throw Refusal(.conflict, "The stream exists already.") }
        let peer = enter(id, seat, origin: id, isPublisher: true, onEnd: onEnd, onQuality: onQuality)
        let stream = LiveStream(
            id: id, peer: peer, application: grant.application, session: grant.work?.session ?? visitor.sessionID,
            tags: (grant.work?.tags ?? tags) + grant.tags, capabilities: grant.capabilities,
            startTime: MonotonicClock.wallTime(), publisher: grant.work == nil ? visitor.address : nil,
            ordinal: nextOrdinal, owner: grant.publisher)
        streams[id] = stream
        shares.enter(id, grant.application, seat.block)
        nextOrdinal += 1
        journal.note(.streamStarting(stream.record))
        do {
            var answer = try await router.publish(
                peer, stream: id, offer: offer, preferring: grant.preferredCodecs,
                playout: grant.playoutBuffer)
            if grant.work != nil { router.addOwnCandidates(to: &answer) }
            participants[peer]?.answer = answer
            shareBitrate()
            streams[id]?.codecs = answer.media.compactMap { $0.payloadFormats.first?.codec }
                .sorted { $0.mediaType == .video && $1.mediaType == .audio }
            statistics.streamStarted(grant.application)
            await journal.commit(.streamStarted(id, at: MonotonicClock.wallTime()))
            logger.info(
                "publisher admitted",
                metadata: Self.metadata(["stream": "\(id)", "application": "\(grant.application)"], visitor))
            return Participation(peer: peer, streamID: id, isPublisher: true, answer: answer)
        } catch {
            forget(peer)
            journal.note(Self.change(stream, StreamEnd(streamID: id, reason: .failed, description: "")))
            throw Self.refusal(error)
        }
    }

    /// Lets a viewer in.
    ///
    /// - Parameters:
    ///   - origin: the stream asked for; nil for the one that the token names, or else the newest. One whose publisher is
    ///   to come back is waited for.
    ///   - asked: which viewing it goes on with; nil for a new one.
    ///   - onInterruption: called when its media connection is lost and may be set up again; nil for who cannot.
    func view(
        _ grant: Grant, visitor: Visitor, origin: StreamID?, offer: SessionDescription,
        returning asked: StreamID? = nil,
        onEnd: @escaping @Sendable (StreamEnd) async -> Void,
        onQuality: @escaping QualityAction = { _, _ in },
        onInterruption: AwaitedStreams.InterruptionAction? = nil
    ) async throws(Refusal) -> Participation {
        if let asked {
            return try await goOn(
                viewing: asked, grant, visitor, offer, onEnd: onEnd, onQuality: onQuality,
                onInterruption: onInterruption)
        }
        try await awaitReturn(of: origin, for: grant, visitor)
        let stream = try find(origin, for: grant, visitor: visitor)
        let seat = try seat(.viewer, grant, visitor)
        let id = grant.work?.stream ?? StreamID(RandomIdentifier.make(prefix: "view-"))
        guard peers[id] == nil else { throw Refusal(.conflict, "The stream exists already.") }
        let peer = enter(id, seat, origin: stream.id, isPublisher: false, onEnd: onEnd, onQuality: onQuality)
        setReturning(peer, in: visitor.sessionID, onInterruption)
        do {
            var answer = try await router.view(
                peer, stream: stream.id, offer: offer, playout: grant.playoutBuffer)
            if grant.work != nil { router.addOwnCandidates(to: &answer) }
            participants[peer]?.answer = answer
            noteView(id, of: stream.id, grant, visitor)
            logger.info(
                "viewer admitted", metadata: Self.metadata(["stream": "\(stream.id)", "view": "\(id)"], visitor))
            return Participation(peer: peer, streamID: id, isPublisher: false, answer: answer)
        } catch {
            forget(peer)
            throw Self.refusal(error)
        }
    }

    private static func metadata(_ metadata: Logger.Metadata, _ visitor: Visitor) -> Logger.Metadata {
        guard let session = visitor.sessionID else { return metadata }
        return metadata.merging(["session": "\(session)"]) { $1 }
    }

    /// The stream that a viewer may see: asked for, named by the token, tagged as the token says, or the newest.
    private func find(_ asked: StreamID?, for grant: Grant, visitor: Visitor) throws(Refusal) -> LiveStream {
        let named = asked ?? grant.token?.originStreamID.map { StreamID($0) }
        let candidates = streams.values.filter { $0.application == grant.application }
        guard let named else {
            let tag = grant.token?.requiredTag
            let tagged = candidates.filter { stream in tag.map { stream.tags.contains($0) } ?? true }
            guard let newest = tagged.max(by: { $0.ordinal < $1.ordinal }) else {
                try authorize(grant, visitor, origin: "", tags: tag.map { [$0] } ?? [])
                throw .noStream
            }
            try authorize(grant, visitor, origin: newest.id.description, tags: newest.tags)
            return newest
        }
        let stream = candidates.first { $0.id == named }
        try authorize(
            grant, visitor, origin: named.description,
            tags: stream?.tags ?? (grant.token?.requiredTag.map { [$0] } ?? []))
        guard let stream else { throw .noStream }
        return stream
    }

    private func noteView(_ id: StreamID, of stream: StreamID, _ grant: Grant, _ visitor: Visitor) {
        statistics.viewBegan(grant.application)
        if var counts = streams[stream]?.counts {
            counts.views += 1
            counts.mostViewers = max(counts.mostViewers, viewers(of: stream))
            streams[stream]?.counts = counts
        }
        journal.note(
            .viewingBegan(
                ViewingRecord(
                    id: id, stream: stream, application: grant.application, session: visitor.sessionID,
                    tags: grant.tags, began: MonotonicClock.wallTime())))
    }

    func authorize(
        _ grant: Grant, _ visitor: Visitor, origin: String, tags: [String]
    ) throws(Refusal) {
        try gatekeeper.authorize(grant, for: .subscribe(originStreamID: origin, tags: tags), visitor: visitor)
    }

    func seat(_ kind: Seat.Kind, _ grant: Grant, _ visitor: Visitor) throws(Refusal) -> Seat {
        try admission.takeJoin(from: visitor.address, at: MonotonicClock.now())
        return try admission.seat(kind, of: grant.application, from: visitor.address)
    }

    func enter(
        _ id: StreamID, _ seat: Seat, origin: StreamID, isPublisher: Bool,
        onEnd: @escaping @Sendable (StreamEnd) async -> Void, onQuality: @escaping QualityAction
    ) -> PeerID {
        let peer = PeerID(nextPeer)
        nextPeer += 1
        participants[peer] = Participant(
            streamID: id, origin: origin, isPublisher: isPublisher, onEnd: onEnd, seat: seat, onQuality: onQuality,
            entered: MonotonicClock.now())
        peers[id] = peer
        return peer
    }

    func forget(_ peer: PeerID) {
        guard let participant = participants.removeValue(forKey: peer) else { return }
        peers[participant.streamID] = nil
        for listener in participant.listeners.values { listener.finish() }
        guard participant.isPublisher else { return }
        streams[participant.streamID] = nil
        shares.leave(participant.streamID)
        shareBitrate()
    }

    /// Has each publisher know its share, which is another whenever one comes or goes, and when the limits change.
    func shareBitrate() {
        for (id, share) in shares.changes(by: admission.limits) {
            if let peer = streams[id]?.peer { router.limit(peer, to: share) }
        }
    }

    static func refusal(_ error: RelayError) -> Refusal {
        switch error {
        case .description(let problem):
            Refusal(.badRequest, "The session description cannot be used: \(problem).")
        case .noCommonCodec:
            Refusal(.unsupported, "None of the codecs offered can be used: H.264, VP8 and Opus are spoken here.")
        case .unknownStream: .noStream
        case .streamExists: Refusal(.conflict, "The stream exists already.")
        case .unknownLayer(let name): Refusal(.badRequest, "The stream has no layer “\(name)”.")
        case .unknownPeer: Refusal(.gone, "The session has ended.")
        case .full: Refusal(.capacity, "The platform is full: try again later.")
        }
    }

    // MARK: While it runs

    /// New ICE credentials for a peer (RFC 9725, section 4.3.2).
    func restart(_ peer: PeerID, remote: ICECredentials) async throws(Refusal) -> TrickleFragment {
        do {
            let ours = try await router.restart(peer, remote: remote)
            logger.info("ICE restarted", metadata: ["peer": "\(peer.value)"])
            return ours
        } catch {
            throw Self.refusal(error)
        }
    }

    /// The same by a whole offer.
    ///
    /// - Returns: the answer: the first one, with our new credentials and candidates.
    func restart(_ id: StreamID, offer: SessionDescription) async throws(Refusal) -> SessionDescription {
        guard let peer = peers[id], var answer = participants[peer]?.answer else { throw .ended }
        guard let section = offer.media.first(where: { $0.iceUfrag != nil && $0.icePwd != nil }),
            let remote = ICECredentials(ufrag: section.iceUfrag ?? "", password: section.icePwd ?? "")
        else { throw Refusal(.badRequest, "A restart brings both ice-ufrag and ice-pwd.") }
        guard offer.media.count == answer.media.count else {
            throw Refusal(.badRequest, "A restart changes nothing but ICE: the sections stay.")
        }
        let ours = try await restart(peer, remote: remote)
        answer.origin.sessionVersion += 1
        for index in answer.media.indices where answer.media[index].iceUfrag != nil {
            answer.media[index].iceUfrag = ours.iceUfrag
            answer.media[index].icePwd = ours.icePwd
            answer.media[index].candidates = ours.candidates
        }
        participants[peer]?.answer = answer
        return answer
    }

    /// What a viewer is sent of its stream's layers; nil when it is gone, or has no video.
    func layers(viewedBy peer: PeerID) async -> ViewedLayers? { await router.layers(viewedBy: peer) }

    /// Has a viewer sent that layer and no better one; nil leaves the choice to the relay.
    func pin(_ peer: PeerID, layer: String?) async throws(Refusal) {
        do {
            try await router.pin(peer, layer: layer)
        } catch {
            throw Self.refusal(error)
        }
    }

    /// Streams of one application, oldest first, each with the number of its viewers.
    func list(_ application: ApplicationID) -> [(stream: LiveStream, viewers: Int)] {
        streams.values.filter { $0.application == application }
            .sorted { $0.ordinal < $1.ordinal }
            .map { stream in (stream, viewers(of: stream.id)) }
    }

    /// A stream that is being published.
    func live(_ id: StreamID, of application: ApplicationID) -> (stream: LiveStream, viewers: Int)? {
        guard let stream = streams[id], stream.application == application else { return nil }
        return (stream, viewers(of: id))
    }

    private func viewers(of stream: StreamID) -> Int {
        participants.values.count { !$0.isPublisher && $0.origin == stream }
    }

    /// How good a stream's data arrives; nil when it is gone.
    func quality(of stream: LiveStream) -> DataQuality? { participants[stream.peer]?.quality }

    /// How many watch and have watched, of each stream.
    var viewerCounts: [StreamID: ViewerCounts] { streams.mapValues(\.counts) }

    /// Publishers and viewers at the moment.
    var counts: (streams: Int, viewers: Int) { (streams.count, participants.count - streams.count) }

    /// Whose each stream is.
    var owners: [StreamID: ApplicationID] { streams.mapValues(\.application) }

    /// The same of each application that has a stream.
    var countsOfApplications: [ApplicationID: (streams: Int, viewers: Int)] {
        var counts: [ApplicationID: (streams: Int, viewers: Int)] = [:]
        for stream in streams.values { counts[stream.application, default: (0, 0)].streams += 1 }
        for viewer in participants.values where !viewer.isPublisher {
            guard let application = streams[viewer.origin]?.application else { continue }
            counts[application, default: (0, 0)].viewers += 1
        }
        return counts
    }

    /// Whether it has not ended.
    func isPresent(_ participation: Participation) -> Bool { participants[participation.peer] != nil }

    // MARK: Ending

    /// Ends a stream, or one viewer's, for a reason; false when there is none of that id.
    ///
    /// The reason of a stream's end is on the disk when this returns, so that who was told that it has ended for a
    /// reason is told the same after a crash. The first reason counts.
    @discardableResult
    func end(
        _ id: StreamID, of application: ApplicationID? = nil, reason: StreamEndedReason, description: String
    ) async -> Bool {
        guard let peer = peers[id], participants[peer] != nil else {
            if await endAwaited(id, of: application, reason: reason, description: description) { return true }
            return await endWaiting?(id, application, reason, description) ?? false
        }
        if let application, streams[id]?.application != application { return false }
        let end = participants[peer]?.ending ?? (reason, description)
        participants[peer]?.ending = end
        if let stream = streams[id], !stream.isEndNoted {
            streams[id]?.isEndNoted = true
            await journal.commit(
                Self.change(stream, StreamEnd(streamID: id, reason: end.reason, description: end.description)))
        }
        for (viewer, participant) in participants where participant.origin == id && viewer != peer {
            participants[viewer]?.ending = participant.ending ?? end
        }
        await router.end(peer, reason: end.reason)
        return true
    }

    /// Ends every stream; the relay tells of each end.
    func endAll(reason: StreamEndedReason) async {
        for stream in Array(streams.keys) + awaited.streams.keys {
            await end(stream, reason: reason, description: reason.rawValue)
        }
    }

    /// Follows what the relay tells, until it stops.
    func follow(_ events: AsyncStream<RelayEvent>) async {
        for await event in events {
            switch event {
            case .mediaStarted(let peer): noteMedia(peer)
            case .ended(let peer, let reason): await noteEnd(peer, reason)
            case .connected(let peer, let profile):
                noteConnected(peer)
                logger.debug("connected", metadata: ["peer": "\(peer.value)", "srtp": "\(profile)"])
            case .away(let peer):
                participants[peer]?.isAway = true
                logger.info("silent for 5 s", metadata: ["peer": "\(peer.value)"])
            case .back(let peer):
                participants[peer]?.isAway = false
                logger.info("heard again", metadata: ["peer": "\(peer.value)"])
            case .dataQuality(let peer, let quality): await noteQuality(peer, quality)
            case .closeConnection(let path): router.close(path)
            }
        }
    }

    private func noteConnected(_ peer: PeerID) {
        guard let participant = participants[peer] else { return }
        statistics.joined(isPublisher: participant.isPublisher, after: MonotonicClock.now() - participant.entered)
    }

    private func noteMedia(_ peer: PeerID) {
        guard let participant = participants[peer] else { return }
        streams[participant.streamID]?.hasMedia = true
        logger.info("media flows", metadata: ["stream": "\(participant.streamID)"])
    }

    private func noteQuality(_ peer: PeerID, _ quality: DataQuality) async {
        guard let participant = participants[peer] else { return }
        participants[peer]?.quality = quality
        logger.info(
            "data quality",
            metadata: [
                "stream": "\(participant.streamID)", "status": "\(quality.status.rawValue)",
                "reason": "\(quality.reason.rawValue)",
            ])
        for listener in participant.listeners.values { listener.yield(.quality(quality)) }
        await participant.onQuality(participant.streamID, quality)
    }

    /// What happens to a participation: its data quality as it is and at each change, and its end. Who does not take them
    /// misses the oldest.
    func news(of peer: PeerID) -> AsyncStream<StreamNews> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: StreamNews.self, bufferingPolicy: .bufferingNewest(Self.qualityBacklog))
        guard let participant = participants[peer], participant.listeners.count < Self.listenerLimit else {
            continuation.finish()
            return stream
        }
        nextListener += 1
        let number = nextListener
        participants[peer]?.listeners[number] = continuation
        continuation.onTermination = { [weak self] _ in
            Task { [weak self] in await self?.removeListener(number, of: peer) }
        }
        continuation.yield(.quality(participant.quality))
        return stream
    }

    private func removeListener(_ number: Int, of peer: PeerID) { participants[peer]?.listeners[number] = nil }

    private func noteEnd(_ peer: PeerID, _ reason: StreamEndedReason) async {
        guard let participant = participants[peer] else { return }
        let stream = streams[participant.streamID]
        let end = StreamEnd(
            streamID: participant.streamID, reason: participant.ending?.reason ?? reason,
            description: participant.ending?.description ?? "")
        for listener in participant.listeners.values { listener.yield(.ended(end)) }
        forget(peer)
        if let stream {
            if !stream.isEndNoted { journal.note(Self.change(stream, end)) }
            statistics.streamEnded(stream.application, end.reason)
        } else {
            journal.note(.viewingEnded(end.streamID, at: MonotonicClock.wallTime(), reason: end.wire))
        }
        logger.info("ended", metadata: ["stream": "\(participant.streamID)", "reason": "\(end.wire)"])
        if stream != nil { await endAwaitedViewings(of: end.streamID, end.reason, end.description) }
        await participant.onEnd(end)
    }

    private static func change(_ stream: LiveStream, _ end: StreamEnd) -> RecordChange {
        .streamEnded(stream.id, at: MonotonicClock.wallTime(), reason: end.wire, counts: stream.counts)
    }
}
