import Logging
import PCastCore
import PCastIO
import Synchronization

/// The search for the nodes that have the playlists of streams.
extension EdgeVideo {
    /// The maximum number of streams, and of results of searches that are kept.
    private static let capacity = 1_024
    /// The maximum number of searches at the same time, and of those of other nodes that are passed on.
    private static let maximumLookups = 64
    /// The maximum number of origins that are asked.
    private static let maximumOrigins = 4
    /// The number of searches per second for signed paths of unknown streams. Clients need no token for them, and other nodes
    /// limit the requests of this one.
    private static let guessesPerSecond: Int64 = 20
    /// The time for which the result of a search is used, because many viewers may request the same stream.
    private static let resultTime = TimeSpan.seconds(1 as Int64)
    /// The interval in which streams are checked.
    private static let interval = Duration.seconds(1)
    /// The time after which the node of a stream is asked for its signatures again, and receives the number of viewers.
    private static let renewalTime = TimeSpan.seconds(3 as Int64)
    /// The time without a request after which a stream is forgotten.
    private static let idleTime = TimeSpan.seconds(30 as Int64)

    // MARK: Searches

    /// Returns a stream that another node packages.
    ///
    /// - Parameters:
    ///   - stream: The requested identifier or name.
    ///   - application: The application of the viewer; nil for the identifier of a signed path.
    ///   - hops: The nodes that wait for the answer.
    /// - Returns: The stream.
    /// - Throws: ``APIError``, with the kind `noStreamPlaying` if no node packages it.
    func find(
        _ stream: StreamID, of application: ApplicationID?, hops: [String] = []
    ) async throws(APIError) -> Stream {
        let lookup = Lookup(application: application, stream: stream)
        guard hops.isEmpty else { return try await passOn(lookup, hops) }
        return try await search(lookup, acceptsFormerResult: true).get()
    }

    /// Returns the stream of a signed path, which contains its identifier or a declared name. A stream or signature that is
    /// not known is searched for.
    ///
    /// - Throws: ``APIError``, with the kind `unauthorized` if the signature has expired, and `playlistNotReady` if it may be
    ///   one that this node does not know yet.
    func check(_ signature: String, of requested: StreamID) async throws(APIError) -> StreamID {
        if let id = knownStream(requested, accepting: signature) { return id }
        let mayGuess = state.withLock { state in
            state.streams[requested] != nil || state.names[requested] != nil
                || state.guesses.take(true, perSecond: Self.guessesPerSecond, at: MonotonicClock.now()) == nil
        }
        guard mayGuess else { throw Self.tooManyRequests }
        let stream = try await find(requested, of: nil)
        guard !stream.accepts(signature) else { return stream.id }
        if stream.isNext(signature) { throw .playlistNotReady }
        throw stream.isExpired(signature) ? .expiredPath : .noStream
    }

    /// Asks for the signatures of a stream again.
    ///
    /// - Throws: ``APIError``.
    func renew(_ id: StreamID) async throws(APIError) -> Stream {
        let lookup = Lookup(application: nil, stream: id)
        let result = await search(lookup, acceptsFormerResult: false)
        if case .failure(let error) = result, error.kind == .noStreamPlaying {
            state.withLock { $0.forget(id) }
            cancelFetches(of: id)
        }
        return try result.get()
    }

    /// Searches for a stream once for all that request it.
    private func search(_ lookup: Lookup, acceptsFormerResult: Bool) async -> Result<Stream, APIError> {
        enum Step {
            case result(Result<Stream, APIError>)
            case wait(Task<Result<Stream, APIError>, Never>)
        }
        let step: Step = state.withLock { state in
            let now = MonotonicClock.now()
            if acceptsFormerResult, let known = state.results[lookup], now < known.until {
                switch known.result {
                case .failure(let error): return .result(.failure(error))
                case .success(let id):
                    if let stream = state.streams[id] {
                        state.streams[id]?.requested = now
                        return .result(.success(stream))
                    }
                }
            }
            if let task = state.lookups[lookup] { return .wait(task) }
            guard !state.isStopped else { return .result(.failure(.draining)) }
            guard state.lookups.count < Self.maximumLookups else { return .result(.failure(Self.tooManyRequests)) }
            let task = Task { await finish(lookup) }
            state.lookups[lookup] = task
            return .wait(task)
        }
        return switch step {
        case .result(let result): result
        case .wait(let task): await task.value
        }
    }

    private func finish(_ lookup: Lookup) async -> Result<Stream, APIError> {
        let beginning = MonotonicClock.now()
        let result = await result(lookup, [])
        state.withLock { state in
            let now = MonotonicClock.now()
            state.lookups[lookup] = nil
            // Another search may have found the stream meanwhile.
            if case .failure = result, let known = state.streams[lookup.stream], known.answered >= beginning { return }
            if state.results.count >= Self.capacity { state.results = state.results.filter { now < $0.value.until } }
            guard state.results.count < Self.capacity else { return }
            state.results[lookup] = (result.map(\.id), now + Self.resultTime)
        }
        return result
    }

    /// Searches for a stream that another node requests. It does not wait for the search of this node, because that may
    /// wait for the other node.
    private func passOn(_ lookup: Lookup, _ hops: [String]) async throws(APIError) -> Stream {
        let mayPass = state.withLock { state in
            guard state.passedCount < Self.maximumLookups else { return false }
            state.passedCount += 1
            return true
        }
        guard mayPass else { throw Self.tooManyRequests }
        defer { state.withLock { $0.passedCount -= 1 } }
        return try await result(lookup, hops).get()
    }

    private func result(_ lookup: Lookup, _ hops: [String]) async -> Result<Stream, APIError> {
        guard hops.count < EdgeConfiguration.maximumDepth else { return .failure(EdgeService.tooDeep) }
        let (usable, isForgotten) = await usableOrigins(lookup)
        var error: APIError?
        var failed: Set<String> = []
        for origin in usable {
            do throws(APIError) {
                return .success(try await request(lookup, hops, from: origin, after: failed))
            } catch let failure {
                failed.insert(origin.uri)
                // An origin that may have the stream tells more than one that does not have it.
                if error == nil || error?.kind == .noStreamPlaying { error = failure }
                logger.debug(
                    "a node has no playlists of a stream",
                    metadata: [
                        "stream": "\(lookup.stream)", "origin": "\(origin.uri)", "error": "\(failure.detail)",
                    ])
            }
        }
        // A node that is lost and has left the directory need not return.
        if isForgotten, error?.kind == .notReady { return .failure(.noStream) }
        // Viewers of an unknown stream do not learn that nodes have asked each other in a circle.
        if hops.isEmpty, error?.kind == .conflict { return .failure(.noStream) }
        return .failure(error ?? .noStream)
    }

    /// Returns the nodes that are asked for a stream, and whether the node from which it was requested is not known to have it
    /// any more.
    private func usableOrigins(_ lookup: Lookup) async -> (origins: [StreamOrigin], isForgotten: Bool) {
        let application = lookup.application ?? ApplicationID("")
        var known = await origins.origins(of: lookup.stream, application: application)
        guard lookup.application == nil, let former = state.withLock({ $0.streams[lookup.stream] }) else {
            // An origin with a lower epoch was replaced by another publication.
            let newest = known.map(\.publicationEpoch).max()
            let usable = known.filter { $0.publicationEpoch == newest && !$0.isThisNode }
            return (Array(usable.prefix(Self.maximumOrigins)), false)
        }
        // The playlists of a publication are available for some time after its end. No directory has it any more then.
        for name in former.names { known += await origins.origins(of: name, application: former.application) }
        let others = known.filter { $0.uri != former.origin.uri && !$0.isThisNode }
        let isForgotten = !known.contains { $0.uri == former.origin.uri }
        return ([former.origin] + others.prefix(Self.maximumOrigins - 1), isForgotten)
    }

    private func request(
        _ lookup: Lookup, _ hops: [String], from origin: StreamOrigin, after failed: Set<String>
    ) async throws(APIError) -> Stream {
        let nonce = RandomIdentifier.make()
        let (viewers, lost) = state.withLock { state -> (Int, [String]?) in
            guard let stream = state.streams[lookup.stream] else { return (0, nil) }
            let isLost = lookup.application == nil && failed.contains(stream.origin.uri)
            return (stream.viewerCount(at: MonotonicClock.now()), isLost ? stream.path : nil)
        }
        let message = NodePlaylistRequest(
            application: lookup.application?.description, stream: lookup.stream.description, hops: hops + [node],
            viewers: viewers, lost: lost)
        // The source of a declared name may begin at the origin when the name is requested.
        let limits = configuration.timeLimits
        let response = try await client.send(
            NodeEnvelope(message, .playlist, nonce: nonce, by: client.signer), to: origin.uri + NodeRoutes.playlists,
            within: lookup.application == nil ? limits.shortResponse : limits.response)
        guard response.nonce == nonce,
            let answer = try? response.message(NodePlaylist.self, .path, by: client.signer), answer.isUsable,
            lookup.application == nil || lookup.application?.description == answer.application
        else { throw NodeClient.unusableAnswer }
        guard !answer.path.contains(node), !answer.path.contains(where: hops.contains) else { throw EdgeService.loop }
        guard answer.path.count < EdgeConfiguration.maximumDepth else { throw EdgeService.tooDeep }
        return try insert(answer, as: lookup.stream, from: origin, after: failed)
    }

    /// Adds a stream, or changes its origin. `failed` are the nodes that were asked before, and do not have it.
    private func insert(
        _ answer: NodePlaylist, as requested: StreamID, from origin: StreamOrigin, after failed: Set<String>
    ) throws(APIError) -> Stream {
        let id = StreamID(answer.stream)
        let (stream, begins): (Stream?, Bool) = state.withLock { state in
            let now = MonotonicClock.now()
            guard state.streams[id] != nil || state.streams.count < Self.capacity else { return (nil, false) }
            var stream =
                state.streams[id]
                ?? Stream(
                    id: id, application: ApplicationID(answer.application), origin: origin,
                    authorizingTags: [], signatures: [], path: [], answered: now, requested: now)
            // A shorter path is kept while it is usable. Nodes that search at each other at the same time would otherwise become
            // each other's origins, and their requests for content would wait for each other.
            let keepsOrigin =
                !stream.path.isEmpty && stream.path.count < answer.path.count && stream.origin.uri != origin.uri
                && !failed.contains(stream.origin.uri)
            if !keepsOrigin {
                stream.origin = origin
                (stream.authorizingTags, stream.signatures) = (answer.authorizingTags, answer.signatures)
                (stream.path, stream.answered) = (answer.path, now)
            }
            if requested != id, stream.names.count < Self.maximumOrigins {
                stream.names.insert(requested)
                state.names[requested, default: []].insert(id)
            }
            state.streams[id] = stream
            // A failure before does not tell about this origin.
            let renewal = Lookup(application: nil, stream: id)
            if case .failure? = state.results[renewal]?.result { state.results[renewal] = nil }
            defer { state.isFollowing = true }
            return (stream, !state.isFollowing)
        }
        guard let stream else { throw Self.tooManyRequests }
        if begins {
            logger.info("playlists are requested from other nodes", metadata: ["origin": "\(origin.uri)"])
            Task { [weak self] in
                while (try? await Task.sleep(for: Self.interval)) != nil, await self?.follow() == true {}
            }
        }
        return stream
    }

    // MARK: Streams

    /// Forgets streams that nobody requests, and renews the signatures of the others. Returns false if there are no streams
    /// any more.
    private func follow() async -> Bool {
        let (due, continues) = state.withLock { state in
            let now = MonotonicClock.now()
            for stream in state.streams.values
            where stream.fetchCount == 0 && stream.waiting.isEmpty && now - stream.requested > Self.idleTime {
                state.forget(stream.id)
            }
            let due = state.streams.values.filter { now - $0.answered >= Self.renewalTime }.map(\.id)
            state.isFollowing = !state.streams.isEmpty
            return (due, state.isFollowing)
        }
        // A node that does not respond must not delay the streams of others.
        await withTaskGroup(of: Void.self) { group in
            var waiting = due[...]
            for _ in 0..<Self.maximumLookups / 4 {
                guard let id = waiting.popFirst() else { break }
                group.addTask { await self.renewOrCancel(id) }
            }
            while await group.next() != nil {
                guard let id = waiting.popFirst() else { continue }
                group.addTask { await self.renewOrCancel(id) }
            }
        }
        return continues
    }

    private func renewOrCancel(_ id: StreamID) async {
        do throws(APIError) {
            _ = try await renew(id)
        } catch {
            // Viewers receive an error at once, and do not wait for a node that does not respond.
            if error.kind == .notReady { cancelFetches(of: id) }
        }
    }

    // MARK: Requests of other nodes

    /// Returns the signed path of a stream's playlists to another node.
    ///
    /// - Throws: ``APIError``; with the kind `conflict` if the request would return to a node that it has passed, or was
    ///   received before.
    func answer(_ request: NodePlaylistRequest, nonce: String) async throws(APIError) -> NodePlaylist {
        try accept(request, nonce)
        let (application, id) = (request.application.map { ApplicationID($0) }, StreamID(request.stream))
        let now = MonotonicClock.now()
        let sender = request.hops.last ?? ""
        if let (packaged, tags) = try await directory.packagedForNode(id, of: application) {
            if application == nil { packaged.note(viewers: request.viewers, of: sender, at: now) }
            return NodePlaylist(
                application: packaged.application.description, stream: packaged.id.description,
                authorizingTags: tags, signatures: packaged.signatures(at: MonotonicClock.wallTime()), path: [node])
        }
        let stream = try await self.stream(id, of: application, hops: request.hops, lost: request.lost ?? [])
        state.withLock { state in
            state.streams[stream.id]?.requested = now
            guard application == nil else { return }
            state.streams[stream.id]?.nodeViewers.note(request.viewers, of: sender, at: now)
        }
        return NodePlaylist(
            application: stream.application.description, stream: stream.id.description,
            authorizingTags: stream.authorizingTags, signatures: stream.signatures, path: [node] + stream.path)
    }

    /// Returns the packaged stream of this node, or else the one of another node, of which another node requests an image.
    ///
    /// - Throws: ``APIError``.
    func streamOfImage(
        _ request: NodePlaylistRequest, nonce: String
    ) async throws(APIError) -> (own: PackagedStream?, other: Stream?) {
        try accept(request, nonce)
        let id = StreamID(request.stream)
        if let (packaged, _) = try await directory.packagedForNode(id, of: nil) { return (packaged, nil) }
        return (nil, try await stream(id, of: nil, hops: request.hops, lost: []))
    }

    private func accept(_ request: NodePlaylistRequest, _ nonce: String) throws(APIError) {
        guard ReceivedNonces.sizes.contains(nonce.utf8.count), !request.hops.isEmpty else {
            throw APIError(.badRequest, "The message of the node is malformed: use the same version on all nodes.")
        }
        guard state.withLock({ $0.nonces.insert(nonce) }) else {
            throw APIError(.conflict, "The request was received before: use a new nonce for each request.")
        }
        guard !request.hops.contains(node) else { throw EdgeService.loop }
        guard request.hops.count <= EdgeConfiguration.maximumDepth else { throw EdgeService.tooDeep }
    }

    /// Returns a stream that another node requests from this one. If that node has lost nodes of this node's own path, their
    /// answer is needed: two edges of one origin that has failed would otherwise become each other's origins.
    private func stream(
        _ id: StreamID, of application: ApplicationID?, hops: [String], lost: [String]
    ) async throws(APIError) -> Stream {
        let lookup = Lookup(application: application, stream: id)
        let known: Stream? = state.withLock { state in
            let now = MonotonicClock.now()
            // A stream that is requested here is renewed by this node.
            if application == nil {
                return state.streams[id].flatMap { $0.path.contains(where: lost.contains) ? nil : $0 }
            }
            guard let result = state.results[lookup], now < result.until, case .success(let id) = result.result
            else { return nil }
            return state.streams[id]
        }
        if let known { return known }
        return try await find(id, of: application, hops: hops)
    }
}
