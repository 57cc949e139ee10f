import Logging
import NIOCore
import PCastCore
import PCastIO
import PCastPackaging
import PCastWeb
import Synchronization

/// Serves HLS of streams that other nodes package, with a cache.
///
/// Requests for the same resource become one request to the node from which the stream is requested. It has a signed path
/// below which it needs no token. Nodes exchange the signatures in signed messages, so that each of them checks those of
/// its viewers.
final class EdgeVideo: Sendable {
    /// A function that receives content, on an event loop if it has one.
    fileprivate struct Waiter: Sendable {
        let eventLoop: (any NIOCore.EventLoop)?
        let function: @Sendable (Result<Content, APIError>) -> Void
    }

    /// A request to another node, and those that wait for its response.
    fileprivate struct Fetch {
        var waiting: [Waiter]
        var task: Task<Void, Never>?
    }

    /// A search for the node of a stream.
    struct Lookup: Hashable, Sendable {
        /// Nil for the identifier of a stream whose path is signed.
        let application: ApplicationID?
        let stream: StreamID
    }

    /// The numbers of requests since the start.
    struct Counts: Hashable, Sendable {
        /// Requests of viewers and nodes.
        var requests = 0
        /// Requests that were answered from the cache.
        var hits = 0
        /// Requests that were sent to other nodes.
        var fetches = 0
    }

    struct State {
        var streams: [StreamID: Stream] = [:]
        /// The streams of declared names. A former publication of a name may have viewers while another one begins.
        var names: [StreamID: Set<StreamID>] = [:]
        fileprivate var cache: ResponseCache<Resource, Content>
        fileprivate var fetches: [Resource: Fetch] = [:]
        /// The searches that wait for an answer, and the results of the newest ones.
        var lookups: [Lookup: Task<Result<Stream, APIError>, Never>] = [:]
        var results: [Lookup: (result: Result<StreamID, APIError>, until: Instant)] = [:]
        /// The searches for signed paths of unknown streams.
        var guesses = TokenBuckets<Bool>(capacity: 1)
        /// The number of searches of other nodes that are passed on.
        var passedCount = 0
        /// The nonces of the requests of other nodes.
        var nonces = ReceivedNonces()
        /// Whether a task follows the streams.
        var isFollowing = false
        /// Whether the platform stops, and sends no requests to other nodes any more.
        var isStopped = false
        fileprivate var counts = Counts()
    }

    /// The identifier of this node until it stops.
    let node: String
    let client: NodeClient
    let configuration: EdgeConfiguration
    let origins: any StreamOrigins
    let directory: StreamDirectory
    let logger: Logger
    let state: Mutex<State>

    /// The maximum number of requests to other nodes at the same time, and for a stream.
    private static let maximumFetches = 1_024
    private static let maximumFetchesOfStream = 128
    /// The maximum number of requests that wait for the same response.
    private static let maximumWaiting = 20_000
    /// The maximum size of a playlist without its content coding.
    private static let playlistLimit = 32 << 20
    /// The time within which a request that failed is sent again, because the stream may be at another node.
    private static let retryTime = TimeSpan.seconds(5 as Int64)

    init(
        _ configuration: EdgeConfiguration, node: String, client: NodeClient, origins: any StreamOrigins,
        directory: StreamDirectory, logger: Logger
    ) {
        self.configuration = configuration
        self.node = node
        self.client = client
        self.origins = origins
        self.directory = directory
        self.logger = logger
        state = Mutex(State(cache: ResponseCache(capacity: configuration.cacheSize)))
    }

    // MARK: Queries

    /// The number of streams of other nodes that are served, of their viewers at this node that wait for a part, of the requests
    /// to other nodes, and of the bytes in memory.
    var load: (streams: Int, viewers: Int, fetches: Int, bytes: Int) {
        let now = MonotonicClock.now()
        return state.withLock { state in
            let viewers = state.streams.values.reduce(0) { $0 + $1.ownViewerCount(at: now) }
            return (state.streams.count, viewers, state.fetches.count, state.cache.size)
        }
    }

    /// The numbers of requests since the start.
    var counts: Counts { state.withLock { $0.counts } }

    /// Returns the stream of a signed path, which contains its identifier or a declared name; nil if it is unknown, or does
    /// not accept the signature.
    func knownStream(_ requested: StreamID, accepting signature: String) -> StreamID? {
        state.withLock { state in
            let candidates = state.streams[requested] == nil ? state.names[requested] ?? [] : [requested]
            guard let id = candidates.first(where: { state.streams[$0]?.accepts(signature) == true }) else {
                return nil
            }
            state.streams[id]?.requested = MonotonicClock.now()
            return id
        }
    }

    /// Returns the path of a stream's multivariant playlist that requires no token; nil if the stream is not known yet.
    func signedPath(of id: StreamID) -> String? { state.withLock { $0.streams[id]?.signedPath } }

    /// Forgets the streams of applications, because the signatures of their paths are not valid any more.
    func revokeAccess(to applications: Set<ApplicationID>) {
        state.withLock { state in
            for stream in state.streams.values where applications.contains(stream.application) {
                state.forget(stream.id)
            }
        }
    }

    /// Ends all requests to other nodes, because the platform stops. Viewers receive an error at once, and the servers do not
    /// wait for their responses.
    func stop() {
        let (fetches, lookups) = state.withLock { state in
            state.isStopped = true
            return (state.fetches.values.compactMap(\.task), Array(state.lookups.values))
        }
        for task in fetches { task.cancel() }
        for task in lookups { task.cancel() }
    }

    // MARK: Viewers

    /// Records that a viewer waits for a part of a rendition, until the same function is called with −1.
    func noteWaiting(_ change: Int, for rendition: String, of id: StreamID) {
        state.withLock { state in
            guard let count = state.streams[id]?.waiting[rendition, default: 0], count + change >= 0 else { return }
            state.streams[id]?.waiting[rendition] = count + change == 0 ? nil : count + change
        }
    }

    /// Returns the application whose quota of viewers a request of a playlist uses; nil if it uses none. See
    /// `PackagedStream.State.countsViewers`.
    func viewedApplication(_ rendition: String, of id: StreamID) -> ApplicationID? {
        state.withLock { state in
            let isVideo = rendition.hasPrefix(PackagedStream.videoPrefix)
            if isVideo { state.streams[id]?.hasVideo = true }
            guard let stream = state.streams[id],
                isVideo || !stream.hasVideo && rendition != StreamPackager.captionsName
            else { return nil }
            return stream.application
        }
    }

    // MARK: Content

    /// Returns content that is in memory; nil if there is none.
    func availableContent(of resource: Resource) -> Content? {
        state.withLock { $0.content(of: resource, at: MonotonicClock.now()) }
    }

    /// Returns content, which is requested from the node of the stream if it is not in memory.
    ///
    /// - Throws: ``APIError``.
    func content(of resource: Resource) async throws(APIError) -> Content {
        let result = await withCheckedContinuation { continuation in
            if let result = request(resource, { continuation.resume(returning: $0) }) {
                continuation.resume(returning: result)
            }
        }
        return try result.get()
    }

    /// Requests content. Returns it if it is in memory, or an error. Otherwise the function receives it later, on the event
    /// loop if there is one.
    func request(
        _ resource: Resource, on eventLoop: (any NIOCore.EventLoop)? = nil,
        _ function: @escaping @Sendable (Result<Content, APIError>) -> Void
    ) -> Result<Content, APIError>? {
        state.withLock { state in
            if let content = state.content(of: resource, at: MonotonicClock.now()) { return .success(content) }
            guard !state.isStopped else { return .failure(.draining) }
            let waiter = Waiter(eventLoop: eventLoop, function: function)
            if let fetch = state.fetches[resource] {
                guard fetch.waiting.count < Self.maximumWaiting else { return .failure(Self.tooManyRequests) }
                state.fetches[resource]?.waiting.append(waiter)
                state.counts.requests += 1
                return nil
            }
            guard let stream = state.streams[resource.stream] else { return .failure(.noStream) }
            guard state.fetches.count < Self.maximumFetches, stream.fetchCount < Self.maximumFetchesOfStream else {
                return .failure(Self.tooManyRequests)
            }
            state.streams[resource.stream]?.fetchCount += 1
            state.counts.requests += 1
            state.counts.fetches += 1
            // The task needs the lock that is held here, so it finds its entry.
            let task = Task { await fetch(resource) }
            state.fetches[resource] = Fetch(waiting: [waiter], task: task)
            return nil
        }
    }

    private func fetch(_ resource: Resource) async {
        let reserved = ReservedBytes(self)
        let result = await load(resource, reserved)
        // A playlist that the origin has sent without gzip is coded here, and not while the state is locked.
        let size = (try? result.get().size) ?? 0
        let waiting = state.withLock { state in
            let bytes = reserved.take()
            switch (result, resource.lifetime) {
            case (.success(let content), .limited(let time)) where state.streams[resource.stream] != nil:
                state.cache.insert(
                    content, for: resource, reserved: bytes, bytes: size,
                    expires: MonotonicClock.now() + time)
            case (.success(let content), .unlimited) where state.streams[resource.stream] != nil:
                state.cache.insert(content, for: resource, reserved: bytes, bytes: size, expires: nil)
            default: state.cache.release(bytes)
            }
            // The stream may have been forgotten and found again meanwhile.
            let count = state.streams[resource.stream]?.fetchCount ?? 0
            state.streams[resource.stream]?.fetchCount = max(count - 1, 0)
            return state.fetches.removeValue(forKey: resource)?.waiting ?? []
        }
        Self.resume(waiting, with: result)
    }

    /// Resumes requests. Each event loop resumes all of its requests at once.
    private static func resume(_ waiting: [Waiter], with result: Result<Content, APIError>) {
        var groups: [ObjectIdentifier: (eventLoop: any NIOCore.EventLoop, waiting: [Waiter])] = [:]
        for waiter in waiting {
            guard let eventLoop = waiter.eventLoop else {
                waiter.function(result)
                continue
            }
            groups[ObjectIdentifier(eventLoop), default: (eventLoop, [])].waiting.append(waiter)
        }
        for (eventLoop, waiting) in groups.values {
            eventLoop.execute { for waiter in waiting { waiter.function(result) } }
        }
    }

    /// The bytes that are reserved for content that is being received.
    private final class ReservedBytes: Sendable {
        private let count = Mutex(0)
        private let video: EdgeVideo

        init(_ video: EdgeVideo) { self.video = video }

        func reserve(_ bytes: Int) -> Bool {
            guard video.state.withLock({ $0.cache.reserve(bytes) }) else { return false }
            count.withLock { $0 += bytes }
            return true
        }

        /// Returns the number of bytes, which the caller releases.
        func take() -> Int {
            count.withLock { count in
                defer { count = 0 }
                return count
            }
        }

        func release() {
            let bytes = take()
            video.state.withLock { $0.cache.release(bytes) }
        }
    }

    // MARK: Requests to other nodes

    /// Requests content from the node of its stream. If that does not respond, the stream is searched for, and requested
    /// once more.
    private func load(_ resource: Resource, _ reserved: ReservedBytes) async -> Result<Content, APIError> {
        let began = MonotonicClock.now()
        for isRetry in [false, true] {
            guard let stream = state.withLock({ $0.streams[resource.stream] }) else { return .failure(.noStream) }
            do throws(APIError) {
                return .success(try await load(resource, of: stream, reserved))
            } catch {
                let isLate = isRetry || MonotonicClock.now() - began > Self.retryTime
                guard error.kind == .notReady, !isLate, !Task.isCancelled else { return .failure(error) }
            }
            reserved.release()
            do throws(APIError) {
                _ = try await renew(resource.stream)
            } catch {
                return .failure(error)
            }
        }
        return .failure(Self.unreachable)
    }

    private func load(
        _ resource: Resource, of stream: Stream, _ reserved: ReservedBytes
    ) async throws(APIError) -> Content {
        guard let path = resource.path else { return .bytes(try await thumbnail(of: stream)) }
        let uri = "\(stream.origin.uri)\(VideoRoutes.folder)/\(stream.id)/\(stream.signatures[0])/\(path)"
        let response: UpstreamRequests.Response
        do throws(UpstreamRequests.Failure) {
            response = try await UpstreamRequests.get(
                uri, acceptsGzip: resource.isPlaylist, within: configuration.timeLimits.playlist,
                admit: reserved.reserve)
        } catch {
            switch error {
            case .tooLarge: throw Self.noMemory
            case .undecodable: throw NodeClient.unusableAnswer
            case .unreachable(let reason):
                logger.info(
                    "the origin of a playlist does not respond",
                    metadata: ["stream": "\(stream.id)", "origin": "\(stream.origin.uri)", "reason": "\(reason)"])
                throw Self.unreachable
            }
        }
        switch response.status {
        case 200: break
        case 400: throw .tooFarAhead
        case 401: throw .expiredPath
        case 404: throw .noStream
        case 429, 503: throw .playlistNotReady
        default:
            throw APIError(
                .failed, "The stream's origin has failed: retry later.",
                detail: "the origin answered with the status \(response.status)")
        }
        guard resource.isPlaylist else { return .bytes(response.body) }
        guard response.isGzip else { return .playlist(RenderedPlaylist(response.body)) }
        guard let plain = await Self.decode(response.body) else { throw NodeClient.unusableAnswer }
        return .playlist(RenderedPlaylist(plain, gzip: response.body))
    }

    private func thumbnail(of stream: Stream) async throws(APIError) -> ByteBuffer {
        let message = NodePlaylistRequest(
            application: nil, stream: stream.id.description, hops: [node], viewers: 0)
        let envelope = NodeEnvelope(message, .thumbnail, nonce: RandomIdentifier.make(), by: client.signer)
        return ByteBuffer(
            bytes: try await client.content(of: envelope, to: stream.origin.uri + NodeRoutes.thumbnails))
    }

    /// Returns the content of a gzip member; nil if it is malformed or too large.
    private static func decode(_ bytes: ByteBuffer) async -> ByteBuffer? {
        guard let coding = ContentCoding("gzip") else { return nil }
        let plain = Mutex(ByteBuffer())
        let isValid = await coding.decode(Array(bytes.readableBytesView)) { piece in
            plain.withLock { plain in
                plain.writeBytes(piece)
                return plain.readableBytes <= playlistLimit
            }
        }
        let result = plain.withLock { $0 }
        return isValid && result.readableBytes <= playlistLimit ? result : nil
    }

    /// Ends the requests of a stream to its node, because that does not respond or does not have the stream any more.
    func cancelFetches(of id: StreamID) {
        let tasks = state.withLock { state in
            state.fetches.compactMap { $0.key.stream == id ? $0.value.task : nil }
        }
        for task in tasks { task.cancel() }
    }

    static let unreachable = APIError(
        .notReady, "The stream's origin does not respond: retry in a moment.",
        detail: "the origin of a playlist does not respond")
    private static let noMemory = APIError(
        .capacity, "The node has no memory for the file: retry in a moment.", retryAfter: .seconds(1 as Int64))
    static let tooManyRequests = APIError(
        .capacity, "Too many playlists and files are requested from other nodes: retry in a moment.",
        retryAfter: .seconds(1 as Int64))
}

extension EdgeVideo.State {
    fileprivate mutating func content(of resource: EdgeVideo.Resource, at now: Instant) -> EdgeVideo.Content? {
        guard let content = cache.content(of: resource, at: now) else { return nil }
        counts.requests += 1
        counts.hits += 1
        return content
    }

    /// Removes a stream and what is kept of it.
    mutating func forget(_ id: StreamID) {
        for name in streams.removeValue(forKey: id)?.names ?? [] {
            names[name]?.remove(id)
            if names[name]?.isEmpty == true { names[name] = nil }
        }
        cache.removeAll { $0.stream == id }
        results = results.filter { entry in
            if case .success(id) = entry.value.result { return false }
            return true
        }
    }
}
