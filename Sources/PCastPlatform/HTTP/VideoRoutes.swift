import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PCastCore
import PCastEdgeAuth
import PCastHLS
import PCastIO
import PCastPackaging
import PCastWeb

/// The playlists, media files and still images of packaged streams, below `/video/STREAM`.
///
/// The multivariant playlist at `index.m3u8` requires a token. Its URIs contain a signature, which is the same for all
/// viewers and grants access to everything below it. So media can be cached, and native players need no header. The
/// multivariant playlist is also available below the signature, for clients that receive its URI from the platform. Its
/// audio is AAC, or Opus with the parameter `audio=opus`.
struct VideoRoutes: Sendable {
    let packaging: PackagingService
    let directory: StreamDirectory
    let authenticator: TokenAuthenticator
    let limiter: RequestLimiter
    let logger: Logger
    var thumbnails = ThumbnailService(nil)
    /// Serves streams that other nodes package; nil for none.
    var video: EdgeVideo?

    /// The folder of all streams.
    static let folder = "/video"
    static let index = "index.m3u8"
    static let playlistSuffix = ".m3u8"
    private static let methods = "GET, HEAD, OPTIONS"

    static let playlistType = "application/vnd.apple.mpegurl"

    /// Returns whether a path is below a signature, so that it needs no limit per address: a content delivery network
    /// requests it for all its viewers.
    static func isSigned(_ path: String) -> Bool {
        path.hasPrefix(folder + "/") && path.utf8.count(where: { $0 == UInt8(ascii: "/") }) >= 4
    }

    /// Returns the path of a stream's multivariant playlist, which requires a token.
    static func path(of stream: StreamID) -> String { "\(folder)/\(stream)/\(index)" }

    /// Returns the path of a stream's multivariant playlist that requires no token.
    static func signedPath(_ packaged: PackagedStream, at time: WallTime) -> String {
        "\(folder)/\(packaged.id)/\(packaged.signature(at: time))/\(index)"
    }

    func addRoutes(to router: Router<WebRequestContext>) {
        let group = router.group(RouterPath(Self.folder + "/:stream"))
        add("index.m3u8", to: group) { request, context async throws(APIError) in
            try await index(request, context)
        }
        add("thumbnail.jpg", to: group) { request, context async throws(APIError) in
            try await thumbnail(request, context)
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
                return Response(Self.refusal(error))
            }
        }
        group.on(path, method: .options) { _, _ in
            CrossOriginMiddleware.preflight(allow: Self.methods, accept: nil)
        }
        for method: HTTPRequest.Method in [.put, .post, .patch, .delete, .trace] {
            group.on(path, method: method) { _, _ in Responses.methodNotAllowed(Self.methods) }
        }
    }

    // MARK: Multivariant playlist

    private func index(_ request: Request, _ context: WebRequestContext) async throws(APIError) -> Response {
        let clientContext = request.clientContext(context)
        let principal = try await authenticator.identifyClient(request.token, from: clientContext)
        let name = context.streamName ?? ""
        let source = try await directory.playlistSource(StreamID(name), for: principal, clientContext: clientContext)
        let packaged: PackagedStream
        switch source {
        case .own(let stream): packaged = stream
        case .other(let stream):
            return Response(
                try await multivariant(
                    ofOther: stream.id, prefix: stream.signatures[0] + "/", caching: "no-store", request))
        }
        let signature = packaged.signature(at: MonotonicClock.wallTime())
        // The media of a channel is that of its presenter's stream.
        let folder = packaging.stream(StreamID(name)) === packaged ? "" : "../\(packaged.id)/"
        return try await multivariant(of: packaged, prefix: folder + signature + "/", caching: "no-store", request)
    }

    private func multivariant(
        of packaged: PackagedStream, prefix: String, caching: String, _ request: Request
    ) async throws(APIError) -> Response {
        let audio = try PlaylistAudio(of: request)
        let now = MonotonicClock.now()
        guard let playlist = await packaged.multivariantPlaylist(prefix: prefix, audio: audio, at: now) else {
            throw .playlistNotReady
        }
        return Response(
            Self.response(playlist, VideoHeads.Playlist(caching: caching), acceptsGzip: request.headers.acceptsGzip))
    }

    // MARK: Thumbnail

    /// Returns a still image of a stream. It requires the same token as viewing, and the client does not count as a
    /// viewer.
    private func thumbnail(_ request: Request, _ context: WebRequestContext) async throws(APIError) -> Response {
        let clientContext = request.clientContext(context)
        let principal = try await authenticator.identifyClient(request.token, from: clientContext)
        let source = try await directory.playlistSource(
            StreamID(context.streamName ?? ""), for: principal, clientContext: clientContext,
            countsAsViewer: false)
        let image =
            switch source {
            case .own(let packaged): try await thumbnails.thumbnail(of: packaged, at: MonotonicClock.now())
            case .other(let stream): try await thumbnail(ofOther: stream.id)
            }
        let age = Int(ThumbnailService.validity.seconds)
        return Response(
            status: .ok,
            headers: [
                .contentType: "image/jpeg", .cacheControl: "private, max-age=\(age)", .xContentTypeOptions: "nosniff",
            ], body: ResponseBody(byteBuffer: image))
    }

    // MARK: Media playlists

    private func playlist(_ request: Request, _ context: WebRequestContext) async throws(APIError) -> Response {
        if let other = try await otherStream(context), let name = context.parameters.get("name") {
            if name == Self.index {
                return Response(
                    try await multivariant(ofOther: other, prefix: "", caching: "no-cache", request))
            }
            return Response(try await playlist(ofOther: other, name, request))
        }
        let packaged = try packaged(context)
        guard let name = context.parameters.get("name"), name.hasSuffix(Self.playlistSuffix) else { throw .noStream }
        if name == Self.index {
            return try await multivariant(of: packaged, prefix: "", caching: "no-cache", request)
        }
        let rendition = String(name.dropLast(Self.playlistSuffix.count))
        let directives = try Self.directives(request.uri.query ?? "")
        // A request that waits counts as a viewer, but a viewer who is present is not refused.
        let reservation = reserve(rendition, of: packaged)
        defer { withExtendedLifetime(reservation) {} }
        let answer = await packaged.mediaPlaylist(rendition, directives, at: MonotonicClock.now())
        return Response(
            Self.response(
                try Self.content(answer), .media(directives), acceptsGzip: request.headers.acceptsGzip))
    }

    /// Returns the directives of a query.
    ///
    /// - Throws: ``APIError`` if one is malformed.
    static func directives(_ query: String) throws(APIError) -> DeliveryDirectives {
        guard !query.isEmpty else { return DeliveryDirectives() }
        guard let directives = DeliveryDirectives(query: query) else {
            throw APIError(.badRequest, "_HLS_msn and _HLS_part must be numbers, and _HLS_part requires _HLS_msn.")
        }
        return directives
    }

    /// Reserves the place of a viewer; nil if the request of a rendition does not count, or if there is none.
    func reserve(_ rendition: String, of packaged: PackagedStream) -> QuotaReservation? {
        guard packaged.countsViewers(of: rendition) else { return nil }
        return try? limiter.reserve(.viewer, of: packaged.application, from: nil, countsAddress: false)
    }

    /// Returns the response with a playlist.
    static func response(
        _ playlist: RenderedPlaylist, _ heads: VideoHeads.Playlist, acceptsGzip: Bool
    ) -> DirectResponse {
        guard acceptsGzip, let gzip = playlist.gzip else { return DirectResponse(heads.plain, playlist.plain) }
        return DirectResponse(heads.coded, gzip)
    }

    // MARK: Media files

    private func file(_ request: Request, _ context: WebRequestContext) async throws(APIError) -> Response {
        guard let rendition = context.parameters.get("name"), let file = context.parameters.get("file") else {
            throw .noStream
        }
        if let other = try await otherStream(context) {
            return Response(try await self.file(ofOther: other, file, of: rendition, request))
        }
        let packaged = try packaged(context)
        let answer = await packaged.file(file, of: rendition, at: MonotonicClock.now())
        if case .unreadable(let reason) = answer {
            logger.error("a segment of a rewind window cannot be read: \(reason)")
        }
        let bytes = try Self.content(answer)
        return Response(
            Self.response(bytes, VideoHeads.file(file, of: rendition), range: request.headers[.range]))
    }

    /// Returns the response with a file, or a range of it.
    static func response(_ bytes: ByteBuffer, headers: HTTPFields, range: String?) -> Response {
        Response(response(bytes, VideoHeads.File(headers), range: range))
    }

    static func response(_ bytes: ByteBuffer, _ heads: VideoHeads.File, range: String?) -> DirectResponse {
        let size = bytes.readableBytes
        switch RequestedRange(range, of: size) {
        case .all: return DirectResponse(heads.whole, bytes)
        case .bytes(let range):
            let part = bytes.getSlice(at: bytes.readerIndex + range.lowerBound, length: range.count)
            return DirectResponse(heads.part, range: ContentRange(range, of: size), part ?? ByteBuffer())
        case .unsatisfiable:
            let fields: HTTPFields = [
                .contentType: "text/plain; charset=utf-8", .contentRange: "bytes */\(size)",
                .cacheControl: "no-store",
            ]
            return DirectResponse(
                DirectResponseHead(.rangeNotSatisfiable, VideoHeads.permitted(fields)),
                ByteBuffer(string: "The range is beyond the end of the file."))
        }
    }

    /// Returns the header fields of the response with a file of a rendition. Files do not change, because each has its
    /// own name. Keys are not cached, so that nobody receives one after the access was revoked.
    static func fileHeaders(of rendition: String, _ file: String) -> HTTPFields {
        VideoHeads.file(file, of: rendition).whole.fields
    }

    // MARK: Access

    /// Returns the stream whose signature a path contains.
    ///
    /// - Throws: ``APIError``.
    private func packaged(_ context: WebRequestContext) throws(APIError) -> PackagedStream {
        guard let name = context.streamName, let signature = context.parameters.get("signature"),
            let packaged = packaging.stream(StreamID(name))
        else {
            try limiter.takeRequest(from: context.clientAddress, at: MonotonicClock.now())
            throw .noStream
        }
        switch packaged.check(signature, at: MonotonicClock.wallTime()) {
        case .valid: return packaged
        case .expired: throw .expiredPath
        case .invalid:
            // Guesses are limited, unlike requests of viewers.
            try limiter.takeRequest(from: context.clientAddress, at: MonotonicClock.now())
            throw .noStream
        }
    }

    /// Returns the content of an answer.
    ///
    /// - Throws: ``APIError`` if it has none.
    static func content<Content: Sendable>(
        _ answer: PackagedStream.Answer<Content>
    ) throws(APIError) -> Content {
        switch answer {
        case .found(let content): return content
        case .tooFarAhead: throw .tooFarAhead
        case .unknown: throw .noStream
        case .timedOut: throw .playlistNotReady
        case .unreadable:
            throw APIError(.failed, "The segment cannot be read: retry later.")
        }
    }
}

extension Response {
    /// Creates the response of a route.
    fileprivate init(_ response: DirectResponse) {
        self.init(
            status: response.head.status, headers: response.fields, body: ResponseBody(inPieces: response.body))
    }
}

extension HTTPFields {
    /// Whether the client accepts the content coding gzip (RFC 9110, section 12.5.3).
    var acceptsGzip: Bool { self[values: .acceptEncoding].contains(where: \.acceptsGzip) }
}

extension String {
    /// Whether a value of `Accept-Encoding` contains gzip, or all codings.
    var acceptsGzip: Bool {
        split(separator: ",").contains { field in
            let parts = field.split(separator: ";").map { String($0).trimmingSpaces.lowercased() }
            guard parts.first == "gzip" || parts.first == "*" else { return false }
            return !parts.dropFirst().contains { ["q=0", "q=0.0", "q=0.00", "q=0.000"].contains($0) }
        }
    }
}

/// The part of a file that a request asks for (RFC 9110, section 14.2).
package enum RequestedRange: Hashable, Sendable {
    /// The whole file: there is no range, or it has a form that is not supported and may be ignored.
    case all
    /// A range of bytes, which is not empty.
    case bytes(Range<Int>)
    /// The range has no byte of the file.
    case unsatisfiable

    /// Parses the value of `Range`. Several ranges are ignored.
    package init(_ value: String?, of size: Int) {
        self = .all
        guard let value, value.hasPrefix("bytes=") else { return }
        let fields = value.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard fields.count == 2 else { return }
        switch (Self.number(fields[0]), Self.number(fields[1])) {
        case (let first?, let last?):
            guard first <= last else { return }
            self = first < size ? .bytes(first..<min(last, size - 1) + 1) : .unsatisfiable
        case (let first?, nil) where fields[1].isEmpty:
            self = first < size ? .bytes(first..<size) : .unsatisfiable
        case (nil, let count?) where fields[0].isEmpty:
            self = count > 0 && size > 0 ? .bytes(max(0, size - count)..<size) : .unsatisfiable
        default: return
        }
    }

    private static func number(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.count <= 18, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
            return nil
        }
        return Int(text)
    }
}
