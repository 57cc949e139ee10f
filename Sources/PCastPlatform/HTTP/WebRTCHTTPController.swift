import FoundationEssentials
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastWeb
import PCastWebRTC
import Tracing

/// The endpoints of WHIP (RFC 9725) and WHEP (draft-ietf-wish-whep-04). A POST with an offer returns an answer and a
/// resource, which supports trickle ICE, ICE restart and DELETE. WHEP may return a counter-offer instead.
struct WebRTCHTTPController: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case whip
        case whep

        /// Returns whether a path belongs to the endpoint.
        func contains(path: String) -> Bool { path == "/\(rawValue)" || path.hasPrefix("/\(rawValue)/") }
    }

    let kind: Kind
    let authenticator: TokenAuthenticator
    let directory: StreamDirectory
    let turnCredentials: TURNCredentialProvider?
    /// The dashboard's logins. Previews on the dashboard do not count as subscribers.
    let dashboard: DashboardAccess
    /// The node of a cluster, whose other nodes serve clients that this one rejects; nil for none.
    let cluster: ClusterService?
    private let tracer: any Tracer
    let logger: Logger
    let resources = WebRTCResources()

    init(
        _ kind: Kind, authenticator: TokenAuthenticator, directory: StreamDirectory,
        turnCredentials: TURNCredentialProvider?,
        dashboard: DashboardAccess, cluster: ClusterService? = nil, tracer: any Tracer, logger: Logger
    ) {
        self.kind = kind
        self.authenticator = authenticator
        self.directory = directory
        self.turnCredentials = turnCredentials
        self.dashboard = dashboard
        self.cluster = cluster
        self.tracer = tracer
        self.logger = logger
    }

    /// The maximum size of an offer or fragment in bytes, which is ten times that of browsers.
    private static let bodyLimit = 64 * 1024
    private static let endpointMethods = "GET, HEAD, POST, OPTIONS"
    private static let resourceMethods = "GET, HEAD, PATCH, DELETE, OPTIONS"

    func addRoutes(to router: Router<WebRequestContext>) {
        let group = router.group("/\(kind.rawValue)")
        for path: RouterPath in ["", ":stream"] {
            group.on(path, method: .post) { request, context in
                await traced {
                    await respond(toJoin: true) { () throws(APIError) in try await joinOrRedirect(request, context) }
                }
            }
            group.on(path, method: .options) { _, _ in
                CrossOriginMiddleware.preflight(allow: Self.endpointMethods, accept: MediaTypeName.description)
            }
            for method: HTTPRequest.Method in [.get, .head] {
                group.on(path, method: method) { _, _ in Self.endpoint(kind) }
            }
            for method: HTTPRequest.Method in [.put, .patch, .delete, .trace] {
                group.on(path, method: method) { _, _ in Responses.methodNotAllowed(Self.endpointMethods) }
            }
        }
        if kind == .whep {
            addLayerRoutes(to: group)
            addClockRoutes(to: group)
        }
        addEventRoutes(to: group)
        let resource: RouterPath = "resource/:name"
        group.on(resource, method: .patch) { request, context in
            await respond { () throws(APIError) in try await patch(request, context) }
        }
        group.on(resource, method: .delete) { request, context in
            await respond { () throws(APIError) in try await delete(request, context) }
        }
        group.on(resource, method: .options) { _, _ in
            CrossOriginMiddleware.preflight(allow: Self.resourceMethods, accept: nil)
        }
        for method: HTTPRequest.Method in [.get, .head] {
            group.on(resource, method: method) { _, context in
                await respond { () throws(APIError) in
                    let resource = try await find(context).resource
                    return Response(status: .noContent, headers: [.acceptPatch: resource.acceptedPatches])
                }
            }
        }
        for method: HTTPRequest.Method in [.put, .post, .trace] {
            group.on(resource, method: method) { _, _ in Responses.methodNotAllowed(Self.resourceMethods) }
        }
    }

    /// Returns the response to GET and HEAD at an endpoint, which has no content (RFC 9725, section 4.1). Players
    /// recognize a WHEP endpoint by the media type (draft-ietf-wish-whep, section 4.2).
    private static func endpoint(_ kind: Kind) -> Response {
        let accept: HTTPFields = [.acceptPost: MediaTypeName.description]
        guard kind == .whep else { return Response(status: .noContent, headers: accept) }
        return Response(
            status: .ok, headers: accept + [.contentType: MediaTypeName.description],
            body: ResponseBody(byteBuffer: ByteBuffer()))
    }

    /// Runs the handler of a request.
    ///
    /// - Parameters:
    ///   - isJoin: Whether the request is a POST to the endpoint. If the stream has no publisher, WHEP requires 409 with
    ///     `Retry-After` (draft-ietf-wish-whep-04, section 4.3.8).
    ///   - body: Creates the response.
    /// - Returns: The response of `body`, or a problem report for its error.
    func respond(toJoin isJoin: Bool = false, _ body: () async throws(APIError) -> Response) async -> Response {
        do {
            return try await body()
        } catch {
            if isJoin, kind == .whep, let rejection = Self.rejectionWithoutPublisher(error) { return rejection }
            if error.kind == .unauthorized || error.kind == .badRequest {
                logger.info("request rejected", metadata: ["protocol": "\(kind.rawValue)", "error": "\(error.detail)"])
            }
            return Responses.problem(error)
        }
    }

    /// The time after which a player may ask again for a stream without a publisher.
    private static let retryAfter = "2"

    /// Returns the response to a player if the stream has no publisher; nil for another error.
    private static func rejectionWithoutPublisher(_ error: APIError) -> Response? {
        switch error.kind {
        case .noStreamPlaying: ProblemDetails(.conflict, error).response([.retryAfter: retryAfter])
        case .gone: ProblemDetails(.conflict, APIError.noStream).response([.retryAfter: retryAfter])
        case .notReady: ProblemDetails(.conflict, error).response(error.httpHeaders)
        default: nil
        }
    }

    /// Runs the handler of a POST within a span.
    private func traced(_ body: () async -> Response) async -> Response {
        let span = tracer.startSpan("POST /\(kind.rawValue)", context: .topLevel, ofKind: .server)
        defer { span.end() }
        let response = await InstrumentationContext.$current.withValue(span.context) { await body() }
        span.attributes["http.request.method"] = "POST"
        span.attributes["http.response.status_code"] = response.status.code
        if response.status.kind == .serverError { span.setStatus(SpanStatus(code: .error)) }
        return response
    }

    // MARK: POST

    /// Joins, or redirects the client to another node of the cluster that can serve it.
    private func joinOrRedirect(
        _ request: Request, _ context: WebRequestContext
    ) async throws(APIError) -> Response {
        // A preview on the dashboard is of a stream of this node, and the browser sends its header to no other node.
        guard let cluster, dashboard.application(for: request, context) == nil else {
            return try await join(request, context)
        }
        if let node = cluster.redirectionOfDrainedNode() { return Self.redirection(to: node, request) }
        do throws(APIError) {
            return try await join(request, context)
        } catch {
            let stream = kind == .whep ? context.streamName.map { StreamID($0) } : nil
            guard let node = cluster.redirection(after: error, requesting: stream) else { throw error }
            return Self.redirection(to: node, request)
        }
    }

    /// Returns the response 307, after which the client sends the same request to another node (RFC 9725, section 4.5).
    private static func redirection(to node: String, _ request: Request) -> Response {
        let base = node.hasSuffix("/") ? String(node.dropLast()) : node
        return Response(
            status: .temporaryRedirect,
            headers: [.location: base + request.uri.string, .cacheControl: "no-store"])
    }

    private func join(_ request: Request, _ context: WebRequestContext) async throws(APIError) -> Response {
        guard request.hasBody(ofType: MediaTypeName.description) else {
            return Responses.problem(
                .unsupportedMediaType,
                "The content type is not supported: send an offer as \(MediaTypeName.description).",
                [.acceptPost: MediaTypeName.description])
        }
        let clientContext = request.clientContext(context)
        let principal = try await authenticator.identifyClient(request.token, from: clientContext)
        let offer = try await description(request, "offer")
        let name = RandomIdentifier.make()
        let resources = resources
        let onEnd: @Sendable (StreamEnd) async -> Void = { _ in await resources.remove(name) }
        let peerSession: PeerSession
        switch kind {
        case .whip:
            peerSession = try await directory.publish(
                principal, clientContext: clientContext, offer: offer,
                tags: try await declaredName(context, of: principal).map { [StreamTags.namePrefix + $0] } ?? [],
                secondCodec: Self.secondCodecRole(request), onEnd: onEnd)
        case .whep:
            let origin = context.streamName.map { StreamID($0) }
            // A player that can wait for the presenter of a channel in its session.
            let awaited = PresenterAwait(query: request.uri.queryParameters["await"])
            peerSession = try await directory.view(
                principal, clientContext: clientContext, origin: origin, offer: offer,
                options: awaited.map { [$0.option] } ?? [],
                isPreview: dashboard.application(for: request, context) == principal.application,
                makesCounterOffer: !request.acceptsProblemReports, onEnd: onEnd)
        }
        let tag = WebRTCResources.newEntityTag()
        let ufrag = peerSession.counterOfferValidity == nil ? offer.firstUfrag : ""
        await resources.insert(
            WebRTCResource(
                peerSession: peerSession, remoteUfrag: ufrag, entityTag: tag,
                isAwaitingAnswer: peerSession.counterOfferValidity != nil),
            name: name)
        // The stream may have ended before the resource was stored.
        guard await directory.isPresent(peerSession) else {
            await resources.remove(name)
            throw .ended
        }
        let turn = turnCredentials?.offer(to: peerSession.streamID, host: request.head.authority)
        let window =
            kind == .whep
            ? await directory.timeShiftWindow(of: peerSession.streamID, at: MonotonicClock.wallTime()) : nil
        return created(peerSession, name: name, tag: tag, links: [turn?.link, window?.link].compactMap { $0 })
    }

    /// Returns the part of a publisher in second codecs, as the parameters of its request state it.
    private static func secondCodecRole(_ request: Request) -> SecondCodecRole {
        let parameters = request.uri.queryParameters
        if let key = parameters["secondCodecKey"] { return .key(String(key)) }
        return parameters["secondCodec"] == "offered" ? .offered : .none
    }

    /// Returns the declared stream that a path of WHIP names; nil for none.
    ///
    /// - Throws: ``APIError`` if the stream is not declared, or the token does not permit publishing to it.
    private func declaredName(_ context: WebRequestContext, of principal: Principal) async throws(APIError) -> String? {
        guard let name = context.streamName else { return nil }
        guard principal.token == nil || principal.tags.contains(StreamTags.namePrefix + name) else {
            throw .token("the token does not apply the tag \(StreamTags.namePrefix)\(name)")
        }
        guard await directory.names?.isDeclared(name, of: principal.application) == true else {
            throw APIError(
                .noStreamPlaying, "The stream “\(name)” is not declared: declare it, or publish at /whip.")
        }
        return name
    }

    /// Returns the response with the answer, or with a counter-offer.
    private func created(_ peerSession: PeerSession, name: String, tag: String, links: [String]) -> Response {
        let location = "/\(kind.rawValue)/resource/\(name)"
        let validity = peerSession.counterOfferValidity
        var headers: HTTPFields = [
            .contentType: validity.map { Self.counterOfferType(validFor: $0) } ?? MediaTypeName.description,
            .location: location, .eTag: tag,
            .acceptPatch: WebRTCResource.acceptedPatches(awaitingAnswer: validity != nil),
            .streamID: peerSession.streamID.description, .cacheControl: "no-store",
        ]
        for link in links { headers.append(HTTPField(name: .link, value: link)) }
        if !peerSession.ignoredCapabilities.isEmpty {
            headers[.ignoredCapabilities] = peerSession.ignoredCapabilities.joined(separator: ", ")
        }
        if kind == .whep { headers.append(HTTPField(name: .link, value: Self.layerLink(name))) }
        headers.append(
            HTTPField(name: .link, value: StreamEvents.link(to: "\(location)/events", isViewer: kind == .whep)))
        return Response(
            status: validity == nil ? .created : .notAcceptable, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: peerSession.answer.text)))
    }

    /// Returns the session description in the body of a request. `what` is its name in errors.
    ///
    /// - Throws: ``APIError``.
    func description(_ request: Request, _ what: String) async throws(APIError) -> SessionDescription {
        let text = try await body(request)
        do {
            return try SessionDescription(parsing: text)
        } catch {
            throw APIError(.badRequest, "The \(what) is malformed: \(error).")
        }
    }

    private func body(_ request: Request) async throws(APIError) -> String {
        var request = request
        let tooLarge = APIError(.tooLarge, "The body is too large: send at most \(Self.bodyLimit / 1024) KiB.")
        // If the client waits for `100 Continue`, the content is not requested.
        if request.headers[.expect] != nil, let length = request.headers[.contentLength].flatMap({ Int($0) }),
            length > Self.bodyLimit
        {
            throw tooLarge
        }
        do {
            return String(buffer: try await request.collectBody(upTo: Self.bodyLimit))
        } catch {
            throw error is NIOTooManyBytesError
                ? tooLarge
                : APIError(.badRequest, "The body is incomplete: send as many bytes as Content-Length states.")
        }
    }

    // MARK: Resource

    func find(_ context: WebRequestContext) async throws(APIError) -> (name: String, resource: WebRTCResource) {
        guard let name = context.parameters.get("name"), let resource = await resources.find(name) else {
            throw .ended
        }
        return (name, resource)
    }

    private func patch(_ request: Request, _ context: WebRequestContext) async throws(APIError) -> Response {
        let (name, resource) = try await find(context)
        if kind == .whep, request.hasBody(ofType: MediaTypeName.description) {
            return try await accept(request, name, resource)
        }
        guard request.hasBody(ofType: MediaTypeName.trickle) else {
            return Responses.problem(
                .unsupportedMediaType,
                "The content type is not supported: send a fragment as \(MediaTypeName.trickle).",
                [.acceptPatch: resource.acceptedPatches])
        }
        guard !resource.isAwaitingAnswer else {
            throw APIError(
                .conflict,
                "The counter-offer is not answered yet: send the answer as \(MediaTypeName.description) first.")
        }
        let text = try await body(request)
        let fragment: TrickleFragment
        do {
            fragment = try TrickleFragment(parsing: text)
        } catch {
            throw APIError(.badRequest, "The SDP fragment is malformed: \(error).")
        }
        let condition = request.entityTagCondition
        if let ufrag = fragment.iceUfrag, ufrag != resource.remoteUfrag {
            return try await restart(name, resource, fragment, condition: condition)
        }
        // Older clients omit the condition, which is harmless before a restart.
        if condition == nil, resource.hasRestarted {
            return Responses.problem(
                .preconditionRequired, "The If-Match header is missing: send the session's ETag in it.")
        }
        guard condition?.matches(resource.entityTag) ?? true else {
            return Responses.problem(.preconditionFailed, "The ETag is outdated, because ICE was restarted since.")
        }
        // An ICE-lite agent sends no checks, so it does not need candidates. The response has no ETag (RFC 9725,
        // section 4.3.2).
        return Response(status: .noContent)
    }

    private func restart(
        _ name: String, _ resource: WebRTCResource, _ fragment: TrickleFragment, condition: EntityTagCondition?
    ) async throws(APIError) -> Response {
        // An example in RFC 9725 quotes the asterisk, and some clients do so too.
        guard condition == .any || condition == .tags(["\"*\""]) else {
            let status: HTTPResponse.Status = condition == nil ? .preconditionRequired : .preconditionFailed
            return Responses.problem(status, "An ICE restart requires “If-Match: *”.")
        }
        guard let ufrag = fragment.iceUfrag, let password = fragment.icePwd,
            let remote = ICECredentials(ufrag: ufrag, password: password)
        else { throw APIError(.badRequest, "An ICE restart requires ice-ufrag and ice-pwd: send both.") }
        let local = try await directory.restart(resource.peerSession.peer, remote: remote)
        guard let tag = await resources.restarted(name, remoteUfrag: ufrag) else { throw .ended }
        return Response(
            status: .ok, headers: [.contentType: MediaTypeName.trickle, .eTag: tag],
            body: ResponseBody(byteBuffer: ByteBuffer(string: local.text)))
    }

    private func delete(_ request: Request, _ context: WebRequestContext) async throws(APIError) -> Response {
        guard let name = context.parameters.get("name"), let resource = await resources.remove(name) else {
            throw .ended
        }
        await directory.end(resource.peerSession.streamID, reason: .ended, description: "")
        return Response(status: .ok)
    }
}

/// The capture time of the video for WHEP, at `/clock` below the resource. Browsers report the RTP timestamp of a
/// displayed frame, but not the sender reports that map it to a time.
///
/// GET returns an RTP timestamp of this session's video, its time of capture by the platform's clock in milliseconds
/// since 1970, and the number of ticks per second:
///
///     {"rtpTimestamp":3745216322,"time":1795649382489.2,"clockRate":90000}
///
/// The response is 204 before the first packet of the video.
extension WebRTCHTTPController {
    private static let clockMethods = "GET, HEAD, OPTIONS"

    func addClockRoutes(to group: RouterGroup<WebRequestContext>) {
        let path: RouterPath = "resource/:name/clock"
        group.on(path, method: .get) { _, context in
            await respond { () throws(APIError) in try await clock(context) }
        }
        group.on(path, method: .options) { _, _ in
            CrossOriginMiddleware.preflight(allow: Self.clockMethods, accept: nil)
        }
        for method: HTTPRequest.Method in [.put, .post, .patch, .delete, .trace] {
            group.on(path, method: method) { _, _ in Responses.methodNotAllowed(Self.clockMethods) }
        }
    }

    private struct Clock: Encodable {
        let rtpTimestamp: UInt32
        let time: Double
        let clockRate: Int64
    }

    private func clock(_ context: WebRequestContext) async throws(APIError) -> Response {
        let (_, resource) = try await find(context)
        guard let clock = await directory.videoClock(viewedBy: resource.peerSession.peer) else {
            return Response(status: .noContent, headers: [.cacheControl: "no-store"])
        }
        let body = Clock(
            rtpTimestamp: clock.timestamp, time: Double(clock.wallTime.nanosecondsSinceEpoch) / 1_000_000,
            clockRate: clock.rate.hertz)
        guard let data = try? JSONEncoder().encode(body) else {
            throw APIError(.failed, "The clock cannot be encoded.")
        }
        var response = Responses.json(.ok, String(decoding: data, as: UTF8.self))
        response.headers[.cacheControl] = "no-store"
        return response
    }
}
