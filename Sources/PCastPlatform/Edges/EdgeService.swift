import Logging
import PCastCluster
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastSFU
import PCastWebRTC

/// Pulls streams from other nodes while they have viewers here, and decides which nodes may pull from this one.
///
/// A stream is pulled once, however many viewers request it. The first viewer waits until its origin has answered. When
/// the link to the origin ends or is silent, the stream continues with the media of another origin (``PulledStream``).
actor EdgeService {
    private struct Request: Hashable {
        let application: ApplicationID
        let stream: StreamID
    }

    /// A stream that is pulled.
    private struct Pulled {
        let session: PeerSession
        let application: ApplicationID
        /// The name or identifier by which origins know the stream.
        let name: StreamID
        var machine: PulledStream
    }

    /// The identifier of this node until it stops.
    nonisolated let node = RandomIdentifier.make(prefix: "node-")
    nonisolated let signer: NodeSignature
    nonisolated let configuration: EdgeConfiguration
    /// Serves HLS of streams that other nodes package.
    nonisolated let video: EdgeVideo
    private nonisolated let client: NodeClient
    private let origins: any StreamOrigins
    private let directory: StreamDirectory
    private let logger: Logger
    /// The pulls that wait for an origin.
    private var pulls: [Request: Task<APIError?, Never>] = [:]
    /// The pulls whose origin waits for the stream itself.
    private var waiting: Set<Request> = []
    /// The streams whose pull waits for its link, with the requests for the same stream by another name that wait for it.
    private var connecting: [StreamID: [CheckedContinuation<Void, Never>]] = [:]
    /// The number of requests of other nodes that are passed on.
    private var passedCount = 0
    /// The results of requests that failed recently, with the origins that were asked.
    private var failures: [Request: (error: APIError, origins: [StreamOrigin], until: Instant)] = [:]
    /// The streams that are pulled.
    private var pulled: [StreamID: Pulled] = [:]
    /// Follows the links while there are pulled streams.
    private var following: Task<Void, Never>?
    /// The nonces of the requests of other nodes.
    private var nonces = ReceivedNonces()
    /// The number of streams that were pulled since the start.
    private(set) var pullCount = 0

    /// The maximum number of requests that wait for an origin, and of failures that are kept.
    private static let limit = 1_024
    /// The time for which a failed request is not repeated, because many viewers may retry.
    private static let failureTime = TimeSpan.seconds(1 as Int64)
    /// The maximum number of origins that are tried for a request.
    private static let maximumOrigins = 4
    /// The maximum number of requests for the end of a stream.
    private static let maximumEndRequests = 10
    /// The interval in which the links are checked, and the shorter one while one of them is about to be replaced.
    private static let interval = Duration.milliseconds(50)
    private static let shortInterval = Duration.milliseconds(10)

    /// Creates a service. Returns nil without a secret of sufficient size.
    init?(_ configuration: EdgeConfiguration, directory: StreamDirectory, logger: Logger) {
        guard let signer = configuration.secret.flatMap({ NodeSignature(secret: $0) }) else { return nil }
        self.configuration = configuration
        self.signer = signer
        self.directory = directory
        self.logger = logger
        origins = configuration.directory ?? FixedOrigins(configuration.origins)
        client = NodeClient(signer: signer, limits: configuration.timeLimits, logger: logger)
        video = EdgeVideo(
            configuration, node: node, client: client, origins: origins, directory: directory, logger: logger)
    }

    // MARK: Edge

    /// Pulls a stream that this node does not have, and waits until viewers can join. It returns without the stream if
    /// no origin has it.
    ///
    /// - Parameters:
    ///   - stream: The requested identifier or name.
    ///   - application: The application of the viewer.
    ///   - hops: The nodes that wait for the stream.
    /// - Throws: ``APIError`` if an origin has it, or may have it, and it cannot be pulled.
    func pull(
        _ stream: StreamID, of application: ApplicationID, hops: [String] = []
    ) async throws(APIError) {
        let request = Request(application: application, stream: stream)
        let known = await origins.origins(of: stream, application: application)
        // A failure does not count any more when other origins are known, such as the first one of a new stream.
        if let failure = failures[request], failure.origins == known, MonotonicClock.now() < failure.until {
            return try Self.report(failure.error)
        }
        if let pull = pulls[request] {
            // The pull may have begun since ``offer(_:nonce:isOnThisMachine:)`` looked for it.
            guard hops.isEmpty else { throw Self.isPulling }
            return try Self.report(await pull.value)
        }
        guard pulls.count < Self.limit else {
            throw APIError(.capacity, "Too many streams are requested from other nodes: retry in a moment.")
        }
        let pull = Task { finish(request, hops, known, await result(request, hops, known)) }
        pulls[request] = pull
        try Self.report(await pull.value)
    }

    /// A stream that no origin has is reported by the caller, like an unknown stream of this node.
    private static func report(_ error: APIError?) throws(APIError) {
        if let error, error.kind != .noStreamPlaying { throw error }
    }

    private func finish(
        _ request: Request, _ hops: [String], _ known: [StreamOrigin], _ error: APIError?
    ) -> APIError? {
        pulls[request] = nil
        waiting.remove(request)
        guard let error else {
            failures[request] = nil
            return nil
        }
        // A circle depends on the nodes that wait.
        guard error.kind != .conflict || hops.isEmpty else { return error }
        let now = MonotonicClock.now()
        if failures.count >= Self.limit { failures = failures.filter { now < $0.value.until } }
        if failures.count < Self.limit { failures[request] = (error, known, now + Self.failureTime) }
        return error
    }

    private func result(_ request: Request, _ hops: [String], _ known: [StreamOrigin]) async -> APIError? {
        guard hops.count < EdgeConfiguration.maximumDepth else { return Self.tooDeep }
        // An origin with a lower epoch was replaced by another publication.
        let newest = known.map(\.publicationEpoch).max()
        let usable = known.filter { $0.publicationEpoch == newest }
        let hasOwn = usable.contains(where: \.isThisNode)
        let limit = hasOwn ? configuration.timeLimits.shortResponse : nil
        var error: APIError?
        for origin in usable.prefix(Self.maximumOrigins) {
            // Viewers receive the publication of this node without a link.
            if origin.isThisNode { break }
            do throws(APIError) {
                try await pull(request, hops, from: origin, within: limit)
                return nil
            } catch let failure {
                // An origin that has the stream and cannot send it tells more than one that does not have it.
                if error == nil || error?.kind == .noStreamPlaying { error = failure }
                logger.info(
                    "a stream was not pulled",
                    metadata: [
                        "stream": "\(request.stream)", "origin": "\(origin.uri)", "error": "\(failure.detail)",
                    ])
            }
        }
        return hasOwn ? .noStream : error ?? .noStream
    }

    private func pull(
        _ request: Request, _ hops: [String], from origin: StreamOrigin, within limit: Duration?
    ) async throws(APIError) {
        let message = NodeRequest(
            application: request.application.description, stream: request.stream.description, hops: hops + [node])
        let (offer, description) = try await requestStream(message, hops, from: origin, within: limit)
        await beginConnecting(StreamID(offer.stream))
        defer { endConnecting(StreamID(offer.stream)) }
        guard let session = try await directory.enterPulled(offer, as: request.stream, request.application, description)
        else { return }
        let link = PulledStream.Link(origin, offer, session.streamID, since: MonotonicClock.now())
        // The publication of a declared name may begin at another node.
        let machine = PulledStream(
            session.streamID, link: link, closeAfter: TimeSpan(configuration.closeAfter),
            mayAppear: configuration.directory != nil && offer.name != nil, limits: configuration.timeLimits)
        let former = pulled.updateValue(
            Pulled(
                session: session, application: request.application,
                name: offer.name.map { StreamID($0) } ?? request.stream, machine: machine), forKey: session.streamID)
        // A former pull of the stream may have ended and not be forgotten yet.
        if let former { await closeLinks(of: former) }
        do {
            try await answer(offer, with: session, to: origin)
        } catch {
            pulled[session.streamID] = nil
            throw error
        }
        pullCount += 1
        logger.info(
            "stream pulled", metadata: ["stream": "\(session.streamID)", "origin": "\(origin.uri)"])
        guard following == nil else { return }
        following = Task { [weak self] in
            while let interval = await self?.followLinks() { try? await Task.sleep(for: interval) }
        }
    }

    /// Waits while another request connects the same stream, which was requested by another name. Viewers of both can join
    /// after it.
    private func beginConnecting(_ stream: StreamID) async {
        while connecting[stream] != nil {
            await withCheckedContinuation { connecting[stream, default: []].append($0) }
        }
        connecting[stream] = []
    }

    private func endConnecting(_ stream: StreamID) {
        for waiting in connecting.removeValue(forKey: stream) ?? [] { waiting.resume() }
    }

    /// Requests an offer, and checks that the stream does not return to a node that it has passed.
    private func requestStream(
        _ message: NodeRequest, _ hops: [String], from origin: StreamOrigin, within limit: Duration? = nil
    ) async throws(APIError) -> (NodeOffer, SessionDescription) {
        let offer = try await requestOffer(message, from: origin.uri + NodeRoutes.streams, within: limit)
        guard !offer.path.contains(node), !offer.path.contains(where: hops.contains) else { throw Self.loop }
        guard offer.path.count < EdgeConfiguration.maximumDepth else { throw Self.tooDeep }
        return (offer, try Self.description(of: offer))
    }

    private static func description(of offer: NodeOffer) throws(APIError) -> SessionDescription {
        do {
            return try SessionDescription(parsing: offer.offer)
        } catch {
            throw NodeClient.unusableAnswer
        }
    }

    /// Completes a link. The stream of the link ends if the origin does not accept the answer.
    private func answer(
        _ offer: NodeOffer, with session: PeerSession, to origin: StreamOrigin, within limit: Duration? = nil
    ) async throws(APIError) {
        let answer = session.description.text
        do {
            if origin.isThisNode {
                try await directory.acceptNode(answer, link: StreamID(offer.link))
            } else {
                let message = NodeEnvelope(NodeAnswer(answer: answer), .answer, nonce: offer.link, by: signer)
                _ = try await client.send(message, to: origin.uri + NodeRoutes.links, within: limit)
            }
        } catch {
            await directory.end(session.streamID, reason: .failed, description: "")
            throw error
        }
    }

    /// Sends a request to an origin, again while it waits for the stream itself. Each request has its own nonce, because
    /// an origin accepts a nonce once.
    private func requestOffer(
        _ message: NodeRequest, from uri: String, within limit: Duration?
    ) async throws(APIError) -> NodeOffer {
        let end = MonotonicClock.now() + (limit.map { TimeSpan($0) } ?? configuration.timeLimits.ready)
        let request = Request(application: ApplicationID(message.application), stream: StreamID(message.stream))
        while true {
            let nonce = RandomIdentifier.make()
            do throws(APIError) {
                let response = try await client.send(
                    NodeEnvelope(message, .request, nonce: nonce, by: signer), to: uri, within: limit)
                guard response.nonce == nonce else { throw NodeClient.unusableAnswer }
                return try response.message(NodeOffer.self, .offer, by: signer)
            } catch {
                guard let wait = error.retryAfter, MonotonicClock.now() < end else { throw error }
                if pulls[request] != nil { waiting.insert(request) }
                guard (try? await Task.sleep(for: wait.duration)) != nil else { throw error }
            }
        }
    }

    // MARK: Links

    /// Records that the first link of a pulled stream has ended. Returns false if the stream is not pulled any more.
    func linkLost(_ stream: StreamID, _ reason: StreamEndedReason) -> Bool {
        guard let machine = pulled[stream]?.machine else { return false }
        // Another link may have replaced it meanwhile.
        if machine.current.stream == stream { pulled[stream]?.machine.linkLost(reason, at: MonotonicClock.now()) }
        return true
    }

    /// Checks the links of all pulled streams. Returns the time to the next check; nil if there are no streams.
    private func followLinks() async -> Duration? {
        let links = pulled.values.flatMap(\.machine.links)
        guard !links.isEmpty else {
            following = nil
            return nil
        }
        let arrivals = await directory.router.arrivals(of: links)
        for id in Array(pulled.keys) {
            guard let stream = pulled[id] else { continue }
            let known = await origins.origins(of: stream.name, application: stream.application)
            let current = await directory.state(ofPulled: stream.session, links: stream.machine.links)
            // The stream may have been pulled again meanwhile.
            guard pulled[id]?.session.peer == stream.session.peer else { continue }
            guard let state = current else {
                await forget(id)
                continue
            }
            let outputs = pulled[id]?.machine.advance(
                to: MonotonicClock.now(), arrivals, ended: state.ended, viewers: state.viewers, origins: known)
            for output in outputs ?? [] { await perform(output, of: id) }
        }
        return pulled.values.contains(where: \.machine.isChanging) ? Self.shortInterval : Self.interval
    }

    private func perform(_ output: PulledStream.Output, of id: StreamID) async {
        switch output {
        case .connect(let origin): Task { [weak self] in await self?.connect(id, to: origin) }
        case .select(let link): await select(link, of: id)
        case .close(let stream): await directory.end(stream, reason: .ended, description: "")
        case .end(let reason):
            logger.info("a pulled stream has no origin any more", metadata: ["stream": "\(id)"])
            // The links of other streams do not wait for the origin.
            Task { [weak self] in await self?.endAsOrigin(id, reason) }
        case .release:
            logger.info("a pulled stream has no viewers", metadata: ["stream": "\(id)"])
            await end(id, .ended)
        }
    }

    /// Ends a pulled stream with the reason for which it has ended at its origin, if that tells one.
    private func endAsOrigin(_ id: StreamID, _ reason: StreamEndedReason) async {
        guard let stream = pulled[id] else { return }
        let end = reason == .ended ? await endAtOrigin(of: stream) : nil
        // The stream may have been pulled again meanwhile.
        guard pulled[id]?.session.peer == stream.session.peer else { return }
        if let end { await directory.note(end, of: stream.application) }
        await self.end(id, end?.reason ?? reason, description: end?.description ?? "")
    }

    /// Requests the end of a pulled stream from the origin of its last link, again while the origin does not know it yet.
    /// Returns nil if the origin does not tell.
    private func endAtOrigin(of stream: Pulled) async -> StreamEnd? {
        let link = stream.machine.current
        let source = link.source ?? stream.machine.id
        for _ in 0..<Self.maximumEndRequests {
            do throws(APIError) {
                let end =
                    link.origin.isThisNode
                    ? try await directory.endForNode(source, of: stream.application)
                    : try await end(of: source, stream.application, at: link.origin)
                return StreamEnd(streamID: stream.machine.id, reason: end.reason, description: end.description)
            } catch {
                guard let wait = error.retryAfter, (try? await Task.sleep(for: wait.duration)) != nil else {
                    return nil
                }
            }
        }
        return nil
    }

    /// Requests the end of a stream from an origin.
    private func end(
        of source: StreamID, _ application: ApplicationID, at origin: StreamOrigin
    ) async throws(APIError) -> StreamEnd {
        let nonce = RandomIdentifier.make()
        let message = NodeEndRequest(application: application.description, stream: source.description)
        let response = try await client.send(
            NodeEnvelope(message, .end, nonce: nonce, by: signer), to: origin.uri + NodeRoutes.ends,
            within: configuration.timeLimits.shortResponse)
        guard response.nonce == nonce else { throw NodeClient.unusableAnswer }
        let end = try response.message(NodeStreamEnd.self, .ended, by: signer)
        return StreamEnd(
            streamID: source, reason: StreamEndedReason(rawValue: end.reason) ?? .ended,
            description: String(end.description.prefix(NodeStreamEnd.maximumDescription)))
    }

    /// Ends a pulled stream.
    private func end(_ id: StreamID, _ reason: StreamEndedReason, description: String = "") async {
        let peer = pulled[id]?.session.peer
        await directory.end(id, reason: reason, description: description)
        // The stream may have been pulled again meanwhile.
        if pulled[id]?.session.peer == peer { await forget(id) }
    }

    /// Closes the links of a stream that has ended.
    private func forget(_ id: StreamID) async {
        if let stream = pulled.removeValue(forKey: id) { await closeLinks(of: stream) }
    }

    /// Closes the links of a pull, except the first one, which ends with the stream.
    private func closeLinks(of stream: Pulled) async {
        for link in stream.machine.links where link != stream.machine.id {
            await directory.end(link, reason: .ended, description: "")
        }
    }

    /// Connects a pulled stream to another origin.
    private func connect(_ id: StreamID, to origin: StreamOrigin) async {
        guard let stream = pulled[id] else { return }
        let limit = configuration.timeLimits.shortResponse
        let message = NodeRequest(
            application: stream.application.description, stream: stream.name.description, hops: [node])
        do throws(APIError) {
            let (offer, description): (NodeOffer, SessionDescription)
            if origin.isThisNode {
                offer = try await directory.offerOwn(stream.name, of: stream.application, by: node)
                description = try Self.description(of: offer)
            } else {
                (offer, description) = try await requestStream(message, [], from: origin, within: limit)
            }
            let session = try await directory.enterLink(offer, of: id, stream.application, description)
            try await answer(offer, with: session, to: origin, within: limit)
            let link = PulledStream.Link(origin, offer, session.streamID, since: MonotonicClock.now())
            guard pulled[id]?.machine.connected(link) != true else { return }
            await directory.end(session.streamID, reason: .ended, description: "")
        } catch {
            logger.info(
                "another origin was not connected",
                metadata: ["stream": "\(id)", "origin": "\(origin.uri)", "error": "\(error.detail)"])
            pulled[id]?.machine.failed(origin, at: MonotonicClock.now())
        }
    }

    private func select(_ link: PulledStream.Link, of id: StreamID) async {
        do throws(SFUError) {
            try await directory.router.splice(link.stream, into: id)
            await directory.note(link, of: id)
            logger.notice(
                "a stream continues from another origin",
                metadata: ["stream": "\(id)", "origin": "\(link.origin.uri)", "epoch": "\(link.origin.epoch)"])
        } catch {
            logger.warning(
                "a stream cannot continue from another origin", metadata: ["stream": "\(id)", "error": "\(error)"])
            await directory.end(id, reason: .failed, description: "")
        }
    }

    // MARK: Origin

    /// Offers a stream to another node.
    ///
    /// - Parameters:
    ///   - request: The request of the node.
    ///   - nonce: The nonce with which it was signed.
    ///   - isOnThisMachine: Whether the node may use loopback addresses.
    /// - Returns: The offer.
    /// - Throws: ``APIError``; with the kind `conflict` if the stream would return to a node that it has passed, or the
    ///   request was received before.
    func offer(_ request: NodeRequest, nonce: String, isOnThisMachine: Bool) async throws(APIError) -> NodeOffer {
        guard ReceivedNonces.sizes.contains(nonce.utf8.count) else {
            throw APIError(.badRequest, "The message of the node is malformed: use the same version on all nodes.")
        }
        guard nonces.insert(nonce) else {
            throw APIError(.conflict, "The request was received before: use a new nonce for each request.")
        }
        guard !request.hops.contains(node) else { throw Self.loop }
        guard request.hops.count <= EdgeConfiguration.maximumDepth else { throw Self.tooDeep }
        let (application, stream) = (ApplicationID(request.application), StreamID(request.stream))
        if await directory.needsPull(forNode: stream) {
            if pulls[Request(application: application, stream: stream)] == nil {
                try await pull(stream, of: application, hops: request.hops)
            } else {
                try await passOn(request)
            }
        }
        return try await directory.offerToNode(
            stream, of: application, to: request.hops, by: node, isOnThisMachine: isOnThisMachine)
    }

    /// Answers the request of a node for a stream that is being pulled. The node asks again, because nodes that wait for
    /// each other would wait in vain.
    ///
    /// If the origin of the pull waits too, they may be in a circle. The request with the largest identifier among those
    /// that wait is passed on. In a circle it returns to its sender, which refuses it. Then each node asks its next origin.
    private func passOn(_ request: NodeRequest) async throws(APIError) {
        let (application, stream) = (ApplicationID(request.application), StreamID(request.stream))
        let pulled = Request(application: application, stream: stream)
        guard waiting.contains(pulled), request.hops.contains(where: { $0 > node }), passedCount < Self.limit else {
            throw Self.isPulling
        }
        passedCount += 1
        defer { passedCount -= 1 }
        let known = await origins.origins(of: stream, application: application)
        try Self.report(await result(pulled, request.hops, known))
    }

    private static let isPulling = APIError(.notReady, "The stream is being pulled: retry in a moment.")
    static let loop = APIError(.conflict, "The stream would return to a node that it has passed.")
    static let tooDeep = APIError(
        .conflict, "The stream would pass more than \(EdgeConfiguration.maximumDepth) nodes.")
}
