import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastHLS
import PCastIO
import PCastRecording
import PCastWeb

/// The playlists and media files of recordings, below `/on-demand/STREAM`, and recordings as one MP4 file.
///
/// The multivariant playlist at `vod.m3u8` and the file `recording.mp4` require a token. The URIs of the playlist contain a
/// signature, which grants access to everything below it, as in ``VideoRoutes``.
struct RecordingRoutes: Sendable {
    let recordings: RecordingService
    let records: Records
    let authenticator: TokenAuthenticator
    let limiter: RequestLimiter
    let logger: Logger

    /// The folder of all recordings.
    static let folder = "/on-demand"
    /// The name of multivariant playlists, which is that of Phenix.
    static let index = "vod.m3u8"
    /// The name of recordings as one MP4 file.
    static let movie = "recording.mp4"
    private static let playlistSuffix = ".m3u8"
    private static let methods = "GET, HEAD, OPTIONS"

    static let unknown = APIError(.noStreamPlaying, "The recording does not exist.")

    /// Returns whether a path is below a signature, so that it needs no limit per address.
    static func isSigned(_ path: String) -> Bool {
        path.hasPrefix(folder + "/") && path.utf8.count(where: { $0 == UInt8(ascii: "/") }) >= 4
    }

    func addRoutes(to router: Router<WebRequestContext>) {
        let group = router.group(RouterPath(Self.folder + "/:stream"))
        add("vod.m3u8", to: group) { request, context async throws(APIError) in
            try await index(request, context)
        }
        add("recording.mp4", to: group) { request, context async throws(APIError) in
            try await movie(of: try await authorized(request, context), request)
        }
        add(":signature/:name", to: group) { request, context async throws(APIError) in
            try await playlist(request, context)
        }
        add(":signature/:name/:file", to: group) { request, context async throws(APIError) in
            try await file(request, context)
        }
    }

    private func add(
        _ path: RouterPath, to group: RouterGroup<WebRequestContext>,
        _ respond: @escaping @Sendable (Request, WebRequestContext) async throws(APIError) -> Response
    ) {
        group.on(path, method: .get) { request, context in
            do throws(APIError) {
                return try await respond(request, context)
            } catch {
                if error.kind == .unauthorized {
                    logger.info("request rejected", metadata: ["protocol": "hls", "error": "\(error.detail)"])
                }
                var response = Responses.refusal(error)
                response.headers[.cacheControl] = "no-store"
                return response
            }
        }
        group.on(path, method: .options) { _, _ in
            CrossOriginMiddleware.preflight(allow: Self.methods, accept: nil)
        }
        for method: HTTPRequest.Method in [.put, .post, .patch, .delete, .trace] {
            group.on(path, method: method) { _, _ in Responses.methodNotAllowed(Self.methods) }
        }
    }

    // MARK: Playlists

    private func index(_ request: Request, _ context: WebRequestContext) async throws(APIError) -> Response {
        let recorded = try await authorized(request, context)
        let signature = recorded.signature(at: MonotonicClock.wallTime())
        return try multivariant(of: recorded, prefix: signature + "/", caching: "no-store", request)
    }

    /// Returns the recording that a path names, if the request's token permits it.
    ///
    /// - Throws: ``APIError``.
    private func authorized(
        _ request: Request, _ context: WebRequestContext
    ) async throws(APIError) -> RecordedStream {
        let clientContext = request.clientContext(context)
        let principal = try await authenticator.identifyClient(request.token, from: clientContext)
        let stream = StreamID(context.streamName ?? "")
        let record: StreamRecord?
        let recorded: RecordedStream?
        do throws(RecordsError) {
            record = try await records.stream(stream, of: principal.application)
            recorded = try await recordings.recording(of: stream)
        } catch {
            throw Self.unreadable(error, logger)
        }
        let tags = record.map { StreamTags(recorded: $0.tags, publisher: $0.publisher).authorizing } ?? []
        try authenticator.authorize(
            principal, for: .subscribe(originStreamID: stream.description, tags: tags), clientContext: clientContext)
        try limiter.takeJoin(from: clientContext.address, at: MonotonicClock.now())
        try await authenticator.checkHook(.subscribe(stream), principal, clientContext)
        guard let recorded, recorded.recording.application == principal.application else { throw Self.unknown }
        return recorded
    }

    private func multivariant(
        of recorded: RecordedStream, prefix: String, caching: String, _ request: Request
    ) throws(APIError) -> Response {
        guard var playlist = recorded.presentation.multivariantPlaylist else { throw Self.unknown }
        playlist.limitAudio(to: try PlaylistAudio(of: request))
        for index in playlist.variants.indices { playlist.variants[index].uri = prefix + playlist.variants[index].uri }
        for index in playlist.renditions.indices {
            playlist.renditions[index].uri = playlist.renditions[index].uri.map { prefix + $0 }
        }
        return response(RenderedPlaylist(playlist.text), caching: caching, request)
    }

    private func playlist(_ request: Request, _ context: WebRequestContext) async throws(APIError) -> Response {
        let recorded = try await recorded(context)
        let requested = context.parameters.get("name")
        if requested == Self.movie { return try await movie(of: recorded, request) }
        guard let name = requested, name.hasSuffix(Self.playlistSuffix) else { throw Self.unknown }
        let caching = recorded.presentation.isComplete ? "public, max-age=60" : "no-cache"
        if name == Self.index { return try multivariant(of: recorded, prefix: "", caching: caching, request) }
        let track = String(name.dropLast(Self.playlistSuffix.count))
        guard let playlist = recorded.mediaPlaylist(track) else { throw Self.unknown }
        return response(playlist, caching: caching, request)
    }

    private func response(_ playlist: RenderedPlaylist, caching: String, _ request: Request) -> Response {
        var headers: HTTPFields = [
            .contentType: VideoRoutes.playlistType, .cacheControl: caching, .vary: "Accept-Encoding",
            .xContentTypeOptions: "nosniff",
        ]
        guard request.headers.acceptsGzip, let gzip = playlist.gzip else {
            return Response(status: .ok, headers: headers, body: ResponseBody(inPieces: playlist.plain))
        }
        headers[.contentEncoding] = "gzip"
        return Response(status: .ok, headers: headers, body: ResponseBody(inPieces: gzip))
    }

    // MARK: Media files

    private func file(_ request: Request, _ context: WebRequestContext) async throws(APIError) -> Response {
        let recorded = try await recorded(context)
        guard let rendition = context.parameters.get("name"), let name = context.parameters.get("file"),
            let file = recorded.presentation.file(name, of: rendition)
        else { throw Self.unknown }
        let bytes: ByteBuffer
        do throws(RecordingError) {
            bytes = try await recorded.read(file)
        } catch {
            logger.error(
                "a recording cannot be read: \(error)", metadata: ["stream": "\(recorded.recording.stream)"])
            throw APIError(.failed, "The file cannot be read: retry later.")
        }
        return VideoRoutes.response(
            bytes, headers: VideoRoutes.fileHeaders(of: rendition, name), range: request.headers[.range])
    }

    // MARK: Access

    /// Returns the recording whose signature a path contains.
    ///
    /// - Throws: ``APIError``.
    private func recorded(_ context: WebRequestContext) async throws(APIError) -> RecordedStream {
        let found: RecordedStream?
        do throws(RecordsError) {
            found = try await recordings.recording(of: StreamID(context.streamName ?? ""))
        } catch {
            throw Self.unreadable(error, logger)
        }
        switch found?.check(context.parameters.get("signature") ?? "", at: MonotonicClock.wallTime()) ?? .invalid {
        case .valid:
            guard let found else { throw Self.unknown }
            return found
        case .expired:
            throw APIError(.unauthorized, "The address has expired: load the multivariant playlist again.")
        case .invalid:
            // Guesses are limited, unlike requests of viewers.
            try limiter.takeRequest(from: context.clientAddress, at: MonotonicClock.now())
            throw Self.unknown
        }
    }

    private static func unreadable(_ error: RecordsError, _ logger: Logger) -> APIError {
        logger.error("database unavailable", metadata: ["error": "\(error)"])
        return APIError(.failed, "The database cannot be read: retry later.")
    }
}
