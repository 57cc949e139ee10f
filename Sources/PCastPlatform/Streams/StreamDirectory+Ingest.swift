import Logging
import PCastCore
import PCastDatabase
import PCastIO
import PCastSFU

/// Publishers in this process, such as encoders that send RTMP or SRT. They are admitted before their tracks are known.
extension StreamDirectory {
    /// The admission of a publisher whose stream does not exist yet. It holds the publisher's place in the quotas.
    struct IngestAdmission: Sendable {
        let principal: Principal
        let clientContext: ClientContext
        /// The names of the capabilities of the stream.
        let names: [String]
        let capabilities: StreamCapabilities
        let reservation: QuotaReservation
        /// The place of the publisher at a declared stream; nil for none.
        var name: NamedStreamService.Admission?
    }

    /// The stream of a publisher in this process.
    struct IngestStream: Sendable {
        let id: StreamID
        /// Passes the frames of the publisher to the SFU.
        let feed: IngestFeed
        /// Passes the packets of further audio tracks to the packager; nil if the stream is not packaged or has none.
        let audioFeed: FurtherAudioFeed?
    }

    /// Decides whether a client may publish a stream from this process.
    ///
    /// - Parameters:
    ///   - principal: The authenticated client.
    ///   - clientContext: The client of the connection.
    ///   - requested: The capabilities that the client requests beside those of its token.
    /// - Returns: The admission, and the requested capabilities that need a token.
    /// - Throws: ``APIError``.
    func admitIngest(
        _ principal: Principal, clientContext: ClientContext, requesting requested: [String]
    ) async throws(APIError) -> (admission: IngestAdmission, rejectedNames: [String]) {
        try policy.authorizePublishing(principal, clientContext)
        // A client of this host that needs no token has all permissions.
        let granted = principal.token == nil ? requested : principal.capabilities
        let (names, rejected) = StreamCapabilities.publishing(granted, requesting: requested)
        let capabilities = try publishingCapabilities(names)
        try policy.takeJoin(principal, clientContext)
        try await policy.authenticator.checkHook(.publish, principal, clientContext)
        let name = try await admitToName(StreamTags(own: [], principal), principal)
        let reservation = try policy.reserve(.stream, principal, clientContext)
        try policy.checkBitrate(for: principal.application, reservation)
        return (
            IngestAdmission(
                principal: principal, clientContext: clientContext, names: names, capabilities: capabilities,
                reservation: reservation, name: name), rejected
        )
    }

    /// Creates the stream of an admitted publisher.
    ///
    /// The start of the stream and the notification of the application's backend are in the database when this function
    /// returns.
    ///
    /// - Parameters:
    ///   - admission: The admission of the publisher.
    ///   - ingestProtocol: The protocol of the publisher.
    ///   - media: The media that the publisher sends.
    ///   - audio: The audio tracks, the default first.
    ///   - onEnd: Called once when the stream has ended.
    /// - Returns: The stream.
    /// - Throws: ``APIError``.
    func publish(
        _ admission: IngestAdmission, by ingestProtocol: IngestProtocol, ingesting media: IngestMedia,
        audio: [AudioTrackDescription] = [], onEnd: @escaping @Sendable (StreamEnd) async -> Void
    ) async throws(APIError) -> IngestStream {
        let principal = admission.principal
        // The token may have been revoked since the publisher was admitted.
        try policy.authenticator.checkRevocation(of: principal)
        let id = StreamID(RandomIdentifier.make(prefix: "stream-"))
        let peer = registry.enter(
            id, admission.reservation, origin: id, isPublisher: true, hasSession: false, at: MonotonicClock.now(),
            onEnd: onEnd, onQuality: { _, _ in })
        beginTrace(of: peer, over: .ingest(ingestProtocol))
        registry.update(peer) { $0.revocationKey = principal.revocationKey }
        // The stream ends with its connection and cannot be resumed, so it has no owner.
        var stream = LiveStream(
            id: id, peer: peer, application: principal.application, session: nil,
            tags: StreamTags(own: [], principal), capabilities: admission.names,
            startTime: MonotonicClock.wallTime(), address: admission.clientContext.address,
            ordinal: registry.takeOrdinal(), publisher: nil)
        stream.ingestProtocol = ingestProtocol
        if let name = admission.name { stream.place = .publisher(of: name.name, as: .publisher) }
        let terms = publishingOptions(admission.capabilities, for: admission.name)
        stream.codecs = [media.video, media.hasAudio ? .opus : nil].compactMap(\.self).filter {
            terms.media.contains($0.mediaType)
        }
        if stream.codecs.contains(.opus) { stream.audioTracks = audio }
        registry.add(stream)
        policy.enter(stream, admission.reservation, limit: principal.limits.bitrate)
        writeQueue.note(.streamStarting(stream.record))
        do {
            let feed = try await router.publish(
                peer, stream: id, ingesting: media, terms: terms, group: admission.name?.group)
            await noteStart(of: id)
            announce(id)
            await joinName(id)
            statistics.streamStarted(principal.application)
            shareBitrate()
            logger.info(
                "publisher admitted",
                metadata: Self.metadata(
                    ["stream": "\(id)", "application": "\(principal.application)"], admission.clientContext))
            warn(of: admission.capabilities, stream: id)
            return IngestStream(id: id, feed: feed, audioFeed: furtherAudioFeed(of: stream))
        } catch {
            discard(peer)
            writeQueue.note(Self.change(stream, StreamEnd(streamID: id, reason: .failed, description: "")))
            throw Self.refusal(error)
        }
    }
}

extension StreamDirectory {
    /// Returns the feed for further audio tracks; nil if the stream is not packaged or has none. The stream of a declared name
    /// is packaged instead of its publishers, and has one audio track.
    private func furtherAudioFeed(of stream: LiveStream) -> FurtherAudioFeed? {
        guard stream.audioTracks.count > 1, !stream.place.isPublisher, packaging?.packages(stream) == true else {
            return nil
        }
        return router.packagingFeed(of: stream.peer).map { FurtherAudioFeed(stream.id, $0) }
    }
}

/// Viewers whose media this process sends, such as those by SRT.
extension StreamDirectory {
    /// A viewing that the SFU does not know.
    struct LocalViewing: Sendable {
        let id: StreamID
        let stream: LiveStream
        /// The media that the viewer's token permits.
        let media: Set<MediaType>
    }

    /// Adds a viewer whose media this process sends. The same rules and limits apply as to all viewers.
    ///
    /// - Parameters:
    ///   - principal: The authenticated client.
    ///   - clientContext: The client of the connection.
    ///   - origin: The requested stream; nil for the one that the token requires, or else the newest.
    ///   - onEnd: Called once when the viewing has ended.
    /// - Returns: The viewing, which the caller ends.
    /// - Throws: ``APIError``.
    func viewLocally(
        _ principal: Principal, clientContext: ClientContext, origin: StreamID?,
        onEnd: @escaping @Sendable (StreamEnd) async -> Void
    ) async throws(APIError) -> LocalViewing {
        let (stream, capabilities) = try await admitViewer(
            principal, clientContext, origin: origin, prefersOwn: true)
        let reservation = try policy.reserve(.viewer, principal, clientContext)
        let id = StreamID(RandomIdentifier.make(prefix: "view-"))
        let peer = registry.enter(
            id, reservation, origin: stream.id, isPublisher: false, at: MonotonicClock.now(), onEnd: onEnd,
            onQuality: { _, _ in })
        registry.update(peer) { ($0.isLocal, $0.revocationKey) = (true, principal.revocationKey) }
        noteView(id, of: stream.id, principal, clientContext)
        logger.info(
            "viewer admitted", metadata: Self.metadata(["stream": "\(stream.id)", "view": "\(id)"], clientContext))
        warn(of: capabilities, stream: id)
        return LocalViewing(id: id, stream: stream, media: capabilities.terms.media)
    }

    /// Ends the viewings of an ended stream that the SFU does not know.
    func endLocalViewings(of origin: StreamID, _ reason: StreamEndedReason) async {
        let viewers = registry.subscribers[origin] ?? []
        for peer in viewers where registry.participants[peer]?.isLocal == true { await noteEnd(peer, reason) }
    }
}

/// The changes that publishers should make, because their media cost their viewers latency or they cannot decode it.
extension StreamDirectory {
    /// Adds findings to a stream, each once, and reports them to its publisher.
    func note(_ findings: [IngestFinding], of id: StreamID) {
        guard let stream = registry.streams[id] else { return }
        let new = findings.filter { finding in !stream.findings.contains { $0.code == finding.code } }
        guard !new.isEmpty else { return }
        registry.update(id) { $0.findings += new }
        reportQuality(of: stream.peer)
    }

    /// Records whether the uplink of a publisher in this process is too slow. The SFU does not know it.
    func noteUplink(isWeak: Bool, of id: StreamID) async {
        guard let peer = registry.streams[id]?.peer else { return }
        await noteQuality(peer, isWeak ? DataQuality(status: .all, reason: .uploadLimited) : .good)
    }

    /// Logs what a publisher should change.
    func warn(of finding: IngestFinding, stream id: StreamID) {
        logger.notice("publisher", metadata: ["stream": "\(id)", "warning": "\(finding)"])
    }

    /// Sends the data quality of a participant, and what a publisher should change, to its listeners.
    func reportQuality(of peer: PeerID) {
        guard let participant = registry.participants[peer] else { return }
        let update = StreamUpdate.quality(participant.quality, warnings: warnings(of: participant))
        for listener in participant.listeners.values { listener.yield(update) }
    }

    /// Returns what a publisher should change; empty for a viewer.
    func warnings(of participant: StreamRegistry.Participant) -> [IngestFinding] {
        guard participant.isPublisher else { return [] }
        return registry.streams[participant.streamID]?.warnings(participant.quality) ?? []
    }
}
