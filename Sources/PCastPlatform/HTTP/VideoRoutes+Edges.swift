import HTTPTypes
import Hummingbird
import NIOCore
import PCastCore
import PCastHLS
import PCastIO
import PCastWeb
import Synchronization

/// Playlists, files and images of streams that other nodes package.
extension VideoRoutes {
    // MARK: Routes

    /// Returns the stream of another node whose signature a path contains; nil if the signature is that of a stream that this
    /// node packages, or if this node belongs to no cluster.
    ///
    /// - Throws: ``APIError``.
    func otherStream(_ context: WebRequestContext) async throws(APIError) -> StreamID? {
        guard let video, let name = context.streamName, let signature = context.parameters.get("signature") else {
            return nil
        }
        let id = StreamID(name)
        // A former publication of a name has playlists for some time after its end, while another node publishes the name.
        if let own = packaging.stream(id) {
            guard !own.isLive, own.check(signature, at: MonotonicClock.wallTime()) == .invalid else { return nil }
        }
        if let known = video.knownStream(id, accepting: signature) { return known }
        // Guesses are limited, unlike requests of viewers.
        try limiter.takeRequest(from: context.clientAddress, at: MonotonicClock.now())
        return try await video.check(signature, of: id)
    }

    /// Returns the response with the multivariant playlist of a stream of another node.
    ///
    /// - Throws: ``APIError``.
    func multivariant(
        ofOther id: StreamID, prefix: String, caching: String, _ request: Request
    ) async throws(APIError) -> DirectResponse {
        let audio = try PlaylistAudio(of: request)
        guard let video else { throw .noStream }
        let content = try await video.content(
            of: EdgeVideo.Resource(stream: id, kind: .multivariantPlaylist(audio)))
        guard case .playlist(let playlist) = content else { throw .noStream }
        return Self.response(
            prefix.isEmpty ? playlist : playlist.prefixed(prefix), VideoHeads.Playlist(caching: caching),
            acceptsGzip: request.headers.acceptsGzip)
    }

    /// Returns the response with a media playlist of a stream of another node.
    ///
    /// - Throws: ``APIError``.
    func playlist(
        ofOther id: StreamID, _ name: String, _ request: Request
    ) async throws(APIError) -> DirectResponse {
        let resource = try EdgeVideo.Resource.playlist(name, request.uri.query ?? "", of: id)
        return try await respond(to: resource, request)
    }

    /// Returns the response with a file of a stream of another node.
    ///
    /// - Throws: ``APIError``.
    func file(
        ofOther id: StreamID, _ file: String, of rendition: String, _ request: Request
    ) async throws(APIError) -> DirectResponse {
        try await respond(to: try EdgeVideo.Resource.file(file, of: rendition, stream: id), request)
    }

    private func respond(
        to resource: EdgeVideo.Resource, _ request: Request
    ) async throws(APIError) -> DirectResponse {
        guard let video else { throw .noStream }
        let viewer = WaitingViewer(of: resource, at: video, limiter: limiter)
        defer { viewer?.leave() }
        return Self.response(
            try await video.content(of: resource), to: resource, range: request.headers[.range],
            acceptsGzip: request.headers.acceptsGzip)
    }

    /// Returns the response with the image of a stream of another node.
    ///
    /// - Throws: ``APIError``.
    func thumbnail(ofOther id: StreamID) async throws(APIError) -> ByteBuffer {
        guard let video,
            case .bytes(let image) = try await video.content(of: EdgeVideo.Resource(stream: id, kind: .thumbnail))
        else { throw .noStream }
        return image
    }

    /// Returns the response with content.
    fileprivate static func response(
        _ content: EdgeVideo.Content, to resource: EdgeVideo.Resource, range: String?, acceptsGzip: Bool
    ) -> DirectResponse {
        switch (content, resource.kind) {
        case (.playlist(let playlist), .playlist(_, let directives)):
            response(playlist, .media(directives), acceptsGzip: acceptsGzip)
        case (.playlist(let playlist), _):
            response(playlist, VideoHeads.Playlist(caching: "no-cache"), acceptsGzip: acceptsGzip)
        case (.bytes(let bytes), .file(let file, let rendition)):
            response(bytes, VideoHeads.file(file, of: rendition), range: range)
        case (.bytes(let bytes), _): response(bytes, VideoHeads.file("", of: ""), range: range)
        }
    }

    // MARK: Direct responses

    /// Returns how a request for a stream that this node does not package is answered.
    func answer(toOther path: SignedPath, _ request: DirectRequest) -> DirectAnswer {
        guard let video, path.name != Self.index,
            let id = video.knownStream(StreamID(path.stream), accepting: path.signature)
        else { return .routes }
        let resource: EdgeVideo.Resource
        do throws(APIError) {
            if let file = path.file {
                resource = try .file(file, of: path.name, stream: id)
            } else {
                resource = try .playlist(path.name, path.query, of: id)
            }
        } catch {
            return .response(Self.refusal(error))
        }
        let acceptsGzip = request.acceptEncoding?.acceptsGzip ?? false
        if let content = video.availableContent(of: resource) {
            return .response(Self.response(content, to: resource, range: request.range, acceptsGzip: acceptsGzip))
        }
        return .later(
            DelayedEdgeResponse(
                resource, video: video, limiter: limiter, range: request.range, acceptsGzip: acceptsGzip))
    }
}

/// A viewer that waits for a part at an edge: it counts as a viewer, and uses the quota of viewers. A viewer who is present
/// is not refused.
private struct WaitingViewer {
    private let rendition: String
    private let id: StreamID
    private let video: EdgeVideo
    private let reservation: QuotaReservation?

    /// Creates a viewer; nil if the request does not wait for a part.
    init?(of resource: EdgeVideo.Resource, at video: EdgeVideo, limiter: RequestLimiter) {
        guard case .playlist(let rendition, let directives) = resource.kind, directives.isBlocking else { return nil }
        (self.rendition, self.video, id) = (rendition, video, resource.stream)
        reservation = video.viewedApplication(rendition, of: id).flatMap {
            try? limiter.reserve(.viewer, of: $0, from: nil, countsAddress: false)
        }
        video.noteWaiting(1, for: rendition, of: id)
    }

    /// Ends the wait. It must be called once.
    func leave() {
        video.noteWaiting(-1, for: rendition, of: id)
        withExtendedLifetime(reservation) {}
    }
}

/// The response to a request that waits for another node, without a task.
private final class DelayedEdgeResponse: DelayedResponse {
    private struct State {
        var viewer: WaitingViewer?
        var isOver = false
    }

    private let resource: EdgeVideo.Resource
    private let video: EdgeVideo
    private let limiter: RequestLimiter
    private let range: String?
    private let acceptsGzip: Bool
    private let state = Mutex(State())

    init(
        _ resource: EdgeVideo.Resource, video: EdgeVideo, limiter: RequestLimiter, range: String?, acceptsGzip: Bool
    ) {
        self.resource = resource
        self.video = video
        self.limiter = limiter
        self.range = range
        self.acceptsGzip = acceptsGzip
    }

    func begin(on eventLoop: any NIOCore.EventLoop, _ respond: @escaping @Sendable (DirectResponse) -> Void) {
        let viewer = WaitingViewer(of: resource, at: video, limiter: limiter)
        state.withLock { $0.viewer = viewer }
        let function: @Sendable (Result<EdgeVideo.Content, APIError>) -> Void = { [self] in complete(with: $0, respond)
        }
        // The response follows the return of this function.
        if let result = video.request(resource, on: eventLoop, function) { eventLoop.execute { function(result) } }
    }

    /// Ends waiting. The request to the other node continues, because its response is kept for others.
    func cancel() { end() }

    private func complete(
        with result: Result<EdgeVideo.Content, APIError>, _ respond: @Sendable (DirectResponse) -> Void
    ) {
        guard end() else { return }
        switch result {
        case .success(let content):
            respond(VideoRoutes.response(content, to: resource, range: range, acceptsGzip: acceptsGzip))
        case .failure(let error): respond(VideoRoutes.refusal(error))
        }
    }

    /// Ends the wait of the viewer. Returns false if it has ended already.
    @discardableResult
    private func end() -> Bool {
        let (isFirst, viewer) = state.withLock { state in
            defer { (state.isOver, state.viewer) = (true, nil) }
            return (!state.isOver, state.viewer)
        }
        viewer?.leave()
        return isFirst
    }
}

extension RenderedPlaylist {
    /// Returns the playlist with a prefix before each URI. All of its URIs are relative.
    func prefixed(_ prefix: String) -> RenderedPlaylist {
        let lines = String(buffer: plain).split(separator: "\n", omittingEmptySubsequences: false)
        let changed = lines.map { line -> String in
            guard !line.hasPrefix("#") else { return String(line).replacing("URI=\"", with: "URI=\"" + prefix) }
            return line.isEmpty ? "" : prefix + line
        }
        return RenderedPlaylist(changed.joined(separator: "\n"))
    }
}
