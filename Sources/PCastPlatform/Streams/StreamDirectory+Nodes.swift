import Logging
import PCastCluster
import PCastCore
import PCastDatabase
import PCastIO
import PCastSFU
import PCastWebRTC

/// Streams of other nodes, and the nodes that pull streams of this one.
extension StreamDirectory {
    /// The time in which a node must answer an offer and connect.
    private var nodeSetupTime: TimeSpan { (edges?.configuration.timeLimits ?? EdgeConfiguration.TimeLimits()).setup }
    /// The prefix of the identifiers of links over which other nodes pull streams.
    static let linkPrefix = "link-"
    /// The prefix of the identifiers of links by which a pulled stream receives the publication of this node.
    private static let ownLinkPrefix = "own-link-"

    /// Pulls a requested stream that this node does not have. It returns without the stream if no other node has it, or
    /// the client may not view it.
    ///
    /// - Throws: ``APIError``.
    func waitForOrigin(
        _ origin: StreamID?, for principal: Principal, _ clientContext: ClientContext, prefersOwn: Bool
    ) async throws(APIError) {
        guard let edges, let requested = principal.origin(requested: origin),
            prefersOwn ? needsPull(forNode: requested) : needsPull(requested)
        else { return }
        // A client without a valid token does not cause a pull.
        let tags = principal.token?.requiredTag.map { [$0] } ?? []
        try policy.authorize(principal, clientContext, origin: requested.description, tags: tags)
        try await edges.pull(requested, of: principal.application)
    }

    /// Whether the stream that a viewer requests is not at this node yet, and its publisher is not expected here.
    ///
    /// A publication that stands by has no viewers of its own: they receive that of the current origin.
    func needsPull(_ requested: StreamID) -> Bool {
        let id = registry.resolve(requested)
        guard requested != id, id == registry.ownStreams[requested] else { return isMissing(id) }
        return otherNodes.value?.origin(of: requested) != nil
    }

    /// Whether the stream that another node requests, or a client that prefers the publication of this node, is not here
    /// yet, and its publisher is not expected here.
    func needsPull(forNode requested: StreamID) -> Bool { isMissing(registry.resolveOwn(requested)) }

    private func isMissing(_ id: StreamID) -> Bool {
        guard let stream = registry.streams[id] else { return pendingReconnects.streams[id] == nil }
        return stream.isPulled && stream.isAwaitingAnswer
    }

    /// Returns the number of participants that receive a pulled stream, nodes included, and those of its links that have
    /// ended; nil if the stream has ended.
    func state(ofPulled session: PeerSession, links: [StreamID]) -> (viewers: Int, ended: Set<StreamID>)? {
        guard registry.participants[session.peer] != nil else { return nil }
        let ended = links.filter { registry.peers[$0] == nil }
        return (registry.subscribers[session.streamID]?.count ?? 0, Set(ended))
    }

    // MARK: Edge

    /// Adds a stream that another node publishes here. Returns nil if the stream is here already, so that only another
    /// name of it was added.
    ///
    /// - Parameters:
    ///   - offer: The message of the other node.
    ///   - requested: The identifier or name that was requested.
    ///   - application: The application of the stream.
    ///   - description: The session description of the offer.
    /// - Returns: The stream, with an answer.
    /// - Throws: ``APIError``.
    func enterPulled(
        _ offer: NodeOffer, as requested: StreamID, _ application: ApplicationID, _ description: SessionDescription
    ) async throws(APIError) -> PeerSession? {
        let id = StreamID(offer.stream)
        if registry.streams[id]?.application == application {
            registry.add(name: requested, of: id)
            return nil
        }
        guard registry.peers[id] == nil else { throw APIError(.conflict, "The stream already exists.") }
        let principal = Principal(application: application, token: nil)
        let reservation = try policy.reserve(
            .stream, principal, ClientContext(connectionFrom: nil, isTrustedProxy: false))
        let peer = registry.enter(
            id, reservation, origin: id, isPublisher: true, at: MonotonicClock.now(), onEnd: { _ in },
            onQuality: { _, _ in })
        var stream = LiveStream(
            id: id, peer: peer, application: application, session: nil,
            tags: StreamTags(ofNode: offer.tags, authorizing: offer.authorizingTags), capabilities: [],
            startTime: MonotonicClock.wallTime(), address: nil, ordinal: registry.takeOrdinal(), publisher: nil)
        stream.nodes = offer.path
        stream.originName = offer.name
        stream.originWindow = offer.window
        // Viewers wait until the origin can send.
        stream.isAwaitingAnswer = true
        registry.add(stream)
        registry.add(name: requested, of: id)
        do throws(SFUError) {
            var terms = PeerOptions(setupLimit: nodeSetupTime)
            terms.keepsViewers = true
            let answer = try await router.pull(peer, stream: id, offer: description, terms: terms)
            note(answer: answer, of: peer)
            registry.update(id) { $0.isAwaitingAnswer = false }
            statistics.streamStarted(application)
            return PeerSession(peer: peer, streamID: id, isPublisher: true, description: answer)
        } catch {
            discard(peer)
            throw Self.refusal(error)
        }
    }

    /// Adds a link of a pulled stream to another origin. It is no stream of its own, and has no viewers.
    ///
    /// - Parameters:
    ///   - offer: The message of the other node.
    ///   - stream: The pulled stream.
    ///   - application: The application of the stream.
    ///   - description: The session description of the offer.
    /// - Returns: The link, with an answer.
    /// - Throws: ``APIError``; with the kind `conflict` if the video has another codec than that of the stream.
    func enterLink(
        _ offer: NodeOffer, of stream: StreamID, _ application: ApplicationID, _ description: SessionDescription
    ) async throws(APIError) -> PeerSession {
        let reservation = try policy.reserve(
            .preview, Principal(application: application, token: nil),
            ClientContext(connectionFrom: nil, isTrustedProxy: false))
        let link = StreamID(RandomIdentifier.make(prefix: "link-"))
        let peer = registry.enter(
            link, reservation, origin: link, isPublisher: true, isPreview: true, at: MonotonicClock.now(),
            onEnd: { _ in }, onQuality: { _, _ in })
        do throws(SFUError) {
            let answer = try await router.pull(
                peer, stream: link, offer: description, terms: PeerOptions(setupLimit: nodeSetupTime),
                beside: stream)
            guard let media = await router.media(of: link), let former = await router.media(of: stream),
                media.video == former.video
            else {
                await router.end(peer, reason: .failed)
                throw .noCommonCodec
            }
            // All layers are sent from now on, so that each of them has a key frame when the link is selected.
            router.watch(link)
            return PeerSession(peer: peer, streamID: link, isPublisher: true, description: answer)
        } catch {
            discard(peer)
            throw Self.refusal(error)
        }
    }

    /// Records that a pulled stream continues with the media of another link, and has the tags of its origin.
    func note(_ link: PulledStream.Link, of id: StreamID) {
        registry.update(id) { $0.nodes = link.nodes }
        registry.setTags(link.tags, of: id)
        guard let peer = registry.peers[id], registry.participants[peer]?.isAway == true else { return }
        registry.update(peer) { $0.isAway = false }
        reportActivity(of: peer, true)
    }

    /// Lets a pulled stream continue from another origin after its link has ended.
    func noteLostLink(_ peer: PeerID, _ reason: StreamEndedReason) async {
        guard let id = registry.participants[peer]?.streamID else { return }
        logger.info("the link to the origin has ended", metadata: ["stream": "\(id)", "reason": "\(reason.rawValue)"])
        if await edges?.linkLost(id, reason) != true { await end(id, reason: reason, description: "") }
    }

    /// Records that a pulled stream has ended at its origin.
    func note(_ end: StreamEnd, of application: ApplicationID) { registry.note(end, of: application) }

    // MARK: Origin

    /// Returns the end of a stream for another node, whose link to it has ended.
    ///
    /// - Throws: ``APIError``; with the kind `notReady` if the stream has not ended yet.
    func endForNode(_ id: StreamID, of application: ApplicationID) throws(APIError) -> StreamEnd {
        if let end = registry.end(of: id, application) { return end }
        guard let stream = registry.streams[id], stream.application == application else { throw .noStream }
        guard let ending = registry.participants[stream.peer]?.ending else {
            throw APIError(.notReady, "The stream has not ended.", retryAfter: .milliseconds(100))
        }
        return StreamEnd(streamID: id, reason: ending.reason, description: ending.description)
    }

    /// Offers the publication of this node to the stream of the same name that this node pulls.
    ///
    /// - Throws: ``APIError``; with the kind `noStreamPlaying` if there is no publication.
    func offerOwn(_ name: StreamID, of application: ApplicationID, by node: String) async throws(APIError) -> NodeOffer
    {
        guard registry.ownStreams[name] != nil else { throw .noStream }
        // The connection is that of two nodes of one machine.
        return try await offerToNode(name, of: application, to: [node], by: node, isOnThisMachine: true)
    }

    /// Offers a stream to another node, for which it is a viewer that does not count.
    ///
    /// - Parameters:
    ///   - requested: The identifier or name of the stream.
    ///   - application: The application of the stream.
    ///   - hops: The nodes that wait for the stream.
    ///   - node: The identifier of this node.
    ///   - isOnThisMachine: Whether the node may use loopback addresses.
    /// - Returns: The offer.
    /// - Throws: ``APIError``.
    func offerToNode(
        _ requested: StreamID, of application: ApplicationID, to hops: [String], by node: String, isOnThisMachine: Bool
    ) async throws(APIError) -> NodeOffer {
        if let names, registry.namedStreams[requested] == nil, registry.streams[requested] == nil,
            await names.isDeclared(requested.description, of: application)
        {
            try await names.wait(for: requested.description)
        }
        guard let stream = registry.streams[registry.resolveOwn(requested)], stream.application == application,
            registry.isAvailable(stream)
        else { throw .noStream }
        guard !stream.nodes.contains(where: hops.contains) else { throw EdgeService.loop }
        let reservation = try policy.reserve(
            .preview, Principal(application: application, token: nil),
            ClientContext(connectionFrom: nil, isTrustedProxy: false))
        let prefix = hops.last == node ? Self.ownLinkPrefix : Self.linkPrefix
        let link = StreamID(RandomIdentifier.make(prefix: prefix))
        let peer = registry.enter(
            link, reservation, origin: stream.id, isPublisher: false, isPreview: true, at: MonotonicClock.now(),
            onEnd: { _ in }, onQuality: { _, _ in })
        var terms = PeerOptions(setupLimit: nodeSetupTime)
        (terms.isNode, terms.isCounted) = (true, false)
        do throws(SFUError) {
            var offer = try await router.view(peer, stream: stream.id, offer: nil, terms: terms)
            if isOnThisMachine { router.addOwnCandidates(to: &offer) }
            registry.update(peer) { $0.offer = offer }
            logger.info(
                "stream offered to a node",
                metadata: ["stream": "\(stream.id)", "node": "\(hops.last ?? "")", "link": "\(link)"])
            var name = stream.originName
            if case .named(let declared) = stream.place { name = declared }
            return NodeOffer(
                link: link.description, stream: stream.id.description, name: name, tags: stream.tags,
                authorizingTags: stream.authorizingTags, path: [node] + stream.nodes, window: window(of: stream),
                offer: offer.text)
        } catch {
            discard(peer)
            throw Self.refusal(error)
        }
    }

    /// Returns the window of a stream that is packaged, here or at its origin; nil if it is not.
    private func window(of stream: LiveStream) -> NodeWindow? {
        if stream.isPulled { return stream.originWindow }
        guard let packaging, packaging.packages(stream) else { return nil }
        return NodeWindow(start: stream.startTime, duration: TimeSpan(packaging.window))
    }

    /// Completes a link with the answer of the node.
    ///
    /// - Throws: ``APIError``.
    func acceptNode(_ answer: String, link: StreamID) async throws(APIError) {
        guard let peer = registry.peers[link], registry.participants[peer]?.isPreview == true else { throw .ended }
        let description: SessionDescription
        do {
            description = try SessionDescription(parsing: answer)
        } catch {
            throw APIError(.badRequest, "The answer is malformed: \(error).")
        }
        _ = try await accept(description, of: link)
    }
}
