import Logging
import PCastCluster
import PCastCore
import PCastDatabase
import PCastIO
import PCastSFU

/// Declared streams: their publishers, which are streams without viewers, and the streams that viewers receive.
extension StreamDirectory {
    /// Returns the place of a publisher at the declared stream that its tags name; nil for an independent stream.
    ///
    /// - Throws: ``APIError`` with the kind `conflict` if the declared stream admits no publisher.
    func admitToName(
        _ tags: StreamTags, _ principal: Principal
    ) async throws(APIError) -> NamedStreamService.Admission? {
        guard let names, let name = tags.name else { return nil }
        return try await names.admit(name, of: principal.application, isJob: principal.job != nil)
    }

    /// Reports a publisher that has begun to its declared stream.
    func joinName(_ id: StreamID) async {
        guard let names, let stream = registry.streams[id], case .publisher(let name, let role) = stream.place else {
            return
        }
        router.watch(id)
        await names.joined(id, name, role)
    }

    /// Reports the end of a stream to the declared stream or the channel that it belongs to.
    func leaveName(_ stream: LiveStream) async {
        guard let names else { return }
        switch stream.place {
        case .independent, .secondCodec: break
        case .publisher(let name, _): await names.left(stream.id, name)
        case .named(let name): await names.closed(stream.id, name)
        case .channel(let id): await channels?.closed(stream.id, id)
        }
    }

    /// Waits for the stream of a requested name, whose source may have to be opened. It returns at once if the request
    /// names no declared stream, or nothing can be expected.
    ///
    /// - Throws: ``APIError`` with the kind `notReady` if the stream does not begin in time.
    func waitForName(
        _ origin: StreamID?, for principal: Principal, _ clientContext: ClientContext
    ) async throws(APIError) {
        guard let names, let requested = principal.origin(requested: origin), registry.streams[requested] == nil,
            registry.namedStreams[requested] == nil,
            await names.isDeclared(requested.description, of: principal.application)
        else { return }
        // A name that is published at another node is pulled from it. It is not awaited here.
        if edges != nil, otherNodes.value?.origin(of: requested) != nil { return }
        try policy.authorize(
            principal, clientContext, origin: requested.description,
            tags: StreamTags(ofName: requested.description).authorizing)
        try await names.wait(for: requested.description)
    }

    /// Creates the stream that viewers of a name receive.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - application: The application of the declaration.
    ///   - names: The capabilities of the stream.
    ///   - media: The tracks.
    ///   - group: The streams that replace each other.
    /// - Returns: The stream.
    /// - Throws: ``APIError``.
    func open(
        _ name: String, of application: ApplicationID, capabilities names: [String], like media: IngestMedia,
        group: String
    ) async throws(APIError) -> StreamID {
        let stream = try await open(
            .named(name), StreamTags(ofName: name), of: application, capabilities: names, like: media, group: group)
        packaging?.setStream(stream, named: StreamID(name))
        await begin(stream, of: application)
        logger.info("named stream opened", metadata: ["stream": "\(stream)", "name": "\(name)"])
        return stream
    }

    /// Creates the publisher of a name whose frames this process makes.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - application: The application of the declaration.
    ///   - media: The tracks.
    ///   - group: The streams that replace each other.
    ///   - onEnd: Called once when the stream has ended.
    /// - Returns: The stream.
    /// - Throws: ``APIError``.
    func publishFallback(
        of name: String, of application: ApplicationID, ingesting media: IngestMedia, group: String,
        onEnd: @escaping @Sendable (StreamEnd) async -> Void
    ) async throws(APIError) -> IngestStream {
        let stream = try await make(
            .publisher(of: name, as: .fallback), StreamTags(ofName: name), of: application, capabilities: [],
            like: media,
            group: group, onEnd: onEnd)
        await begin(stream.id, of: application)
        await joinName(stream.id)
        return stream
    }

    /// Creates a stream that other streams are forwarded to.
    ///
    /// - Throws: ``APIError``.
    func open(
        _ place: NameRelation, _ tags: StreamTags, of application: ApplicationID, capabilities names: [String],
        like media: IngestMedia, beside neighbor: StreamID? = nil, group: String? = nil
    ) async throws(APIError) -> StreamID {
        try await make(
            place, tags, of: application, capabilities: names, like: media, beside: neighbor, group: group,
            onEnd: { _ in }
        ).id
    }

    /// Creates a stream in this process.
    ///
    /// - Throws: ``APIError``.
    private func make(
        _ place: NameRelation, _ tags: StreamTags, of application: ApplicationID, capabilities names: [String],
        like media: IngestMedia, beside neighbor: StreamID? = nil, group: String? = nil,
        onEnd: @escaping @Sendable (StreamEnd) async -> Void
    ) async throws(APIError) -> IngestStream {
        let capabilities = try StreamCapabilities(names, for: .publish)
        let principal = Principal(application: application, token: nil)
        // A slate must not use the place with which the publisher returns.
        let reservation = try policy.reserve(
            place.isPublisher ? .preview : .stream, principal,
            ClientContext(connectionFrom: nil, isTrustedProxy: false))
        let id = StreamID(RandomIdentifier.make(prefix: "stream-"))
        let peer = registry.enter(
            id, reservation, origin: id, isPublisher: true, hasSession: false, at: MonotonicClock.now(),
            onEnd: onEnd, onQuality: { _, _ in })
        var stream = LiveStream(
            id: id, peer: peer, application: application, session: nil, tags: tags, capabilities: names,
            startTime: MonotonicClock.wallTime(), address: nil, ordinal: registry.takeOrdinal(), publisher: nil)
        stream.place = place
        stream.ingestProtocol = .name
        stream.codecs = [media.video, media.hasAudio ? .opus : nil].compactMap(\.self).filter {
            capabilities.terms.media.contains($0.mediaType)
        }
        writeQueue.note(.streamStarting(stream.record))
        var terms = capabilities.terms
        if renditions?.applies(to: []) == true, !place.isPublisher { terms.hasRenditions = true }
        let feed: IngestFeed
        do {
            feed = try await router.publish(
                peer, stream: id, ingesting: media, terms: terms, beside: neighbor, group: group)
        } catch {
            discard(peer)
            writeQueue.note(Self.change(stream, StreamEnd(streamID: id, reason: .failed, description: "")))
            throw Self.refusal(error)
        }
        registry.add(stream)
        // The stream of a channel has the media of presenters, whose shares of the bit rate do not depend on its viewers.
        // Neither does that of a fallback.
        if !place.isChannel, !place.isPublisher { policy.enter(stream, reservation) }
        return IngestStream(id: id, feed: feed, audioFeed: nil)
    }

    /// Reports the begin of a stream that other streams are forwarded to.
    func begin(_ id: StreamID, of application: ApplicationID) async {
        await noteStart(of: id)
        announce(id)
        statistics.streamStarted(application)
    }

    /// Records that the video of a stream has another codec.
    func noteCodec(_ codec: Codec, of peer: PeerID) {
        guard let id = registry.participants[peer]?.streamID, let stream = registry.streams[id], stream.peer == peer
        else { return }
        registry.update(id) { stream in
            stream.codecs = [codec] + stream.codecs.filter { $0.mediaType != .video }
        }
        logger.info("the video has another codec", metadata: ["stream": "\(id)", "codec": "\(codec.rawValue)"])
    }

    /// Returns the numbers of viewers of streams.
    func viewers(of streams: [StreamID]) -> [StreamID: Int] {
        Dictionary(streams.map { ($0, viewers(of: $0)) }, uniquingKeysWith: { first, _ in first })
    }
}
