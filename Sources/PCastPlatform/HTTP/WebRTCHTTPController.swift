import FoundationEssentials
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PCastCore
import PCastEdgeAuth
import PCastWeb
import PCastWebRTC

/// The endpoints of WHIP (RFC 9725) and WHEP (draft-ietf-wish-whep). A POST with an offer returns an answer and a
/// resource, which supports trickle ICE, ICE restart and DELETE.
struct WebRTCHTTPController: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case whip
        case whep
    }

    let kind: Kind
    let authenticator: TokenAuthenticator
    let directory: StreamDirectory
    let turnCredentials: TURNCredentialProvider?
    /// The dashboard's logins. Previews on the dashboard do not count as subscribers.
    let dashboard: DashboardAccess
    let logger: Logger
    private let resources = WebRTCResources()

    init(
        _ kind: Kind, authenticator: TokenAuthenticator, directory: StreamDirectory,
        turnCredentials: TURNCredentialProvider?,
        dashboard: DashboardAccess, logger: Logger
    ) {
        self.kind = kind
        self.authenticator = authenticator
        self.directory = directory
        self.turnCredentials = turnCredentials
        self.dashboard = dashboard
        self.logger = logger
    }

    /// The maximum size of an offer or fragment in bytes, which is ten times that of browsers.
    private static let bodyLimit = 64 * 1024
    private static let endpointMethods = "GET, HEAD, POST, OPTIONS"
    private static let resourceMethods = "GET, HEAD, PATCH, DELETE, OPTIONS"

    func addRoutes(to router: Router<WebRequestContext>) {
        let group = router.group("/\(kind.rawValue)")
        for path: RouterPath in kind == .whep ? ["", ":stream"] : [""] {
            group.on(path, method: .post) { request, context in
                await respond { () throws(APIError) in try await join(request, context) }
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
        let events: RouterPath = "resource/:name/events"
        group.on(events, method: .get) { _, context in
            await respond { () throws(APIError) in
                let resource = try await find(context).resource
                return StreamEvents.response(await directory.updates(of: resource.peerSession.peer))
            }
        }
        for method: HTTPRequest.Method in [.put, .post, .patch, .delete, .trace] {
            group.on(events, method: method) { _, _ in Responses.methodNotAllowed("GET, HEAD") }
        }
        for method: HTTPRequest.Method in [.get, .head] {
            group.on(resource, method: method) { _, context in
                await respond { () throws(APIError) in
                    _ = try await find(context)
                    return Response(status: .noContent, headers: [.acceptPatch: MediaTypeName.trickle])
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

    func respond(_ body: () async throws(APIError) -> Response) async -> Response {
        do {
            return try await body()
        } catch {
            if error.kind == .unauthorized || error.kind == .badRequest {
                logger.info("request rejected", metadata: ["protocol": "\(kind.rawValue)", "error": "\(error.detail)"])
            }
            return Responses.refusal(error)
        }
    }

    // MARK: POST

    private func join(_ request: Request, _ context: WebRequestContext) async throws(APIError) -> Response {
        guard request.hasBody(ofType: MediaTypeName.description) else {
            return Responses.text(
                .unsupportedMediaType,
                "The content type is not supported: send an offer as \(MediaTypeName.description).",
                [.acceptPost: MediaTypeName.description])
        }
        let clientContext = request.clientContext(context)
        let principal = try authenticator.identify(request.token, clientContext: clientContext)
        let offer: SessionDescription
        do {
            offer = try SessionDescription(parsing: try await body(request))
        } catch let error as SDPError {
            throw APIError(.badRequest, "The offer is malformed: \(error).")
        } catch let error as APIError {
            throw error
        } catch {
            throw APIError(.badRequest, "The offer cannot be processed: send a session description as application/sdp.")
        }
        let name = RandomIdentifier.make()
        let resources = resources
        let onEnd: @Sendable (StreamEnd) async -> Void = { _ in await resources.remove(name) }
        let peerSession: PeerSession
        switch kind {
        case .whip:
            peerSession = try await directory.publish(
                principal, clientContext: clientContext, offer: offer, tags: [], onEnd: onEnd)
        case .whep:
            let origin = context.parameters.get("stream").map { StreamID($0) }
            peerSession = try await directory.view(
                principal, clientContext: clientContext, origin: origin, offer: offer,
                isPreview: dashboard.application(for: request, context) == principal.application, onEnd: onEnd)
        }
        let tag = WebRTCResources.newEntityTag()
        let ufrag = offer.media.lazy.compactMap(\.iceUfrag).first ?? ""
        await resources.insert(
            WebRTCResource(peerSession: peerSession, remoteUfrag: ufrag, entityTag: tag), name: name)
        // The stream may have ended before the resource was stored.
        guard await directory.isPresent(peerSession) else {
            await resources.remove(name)
            throw .ended
        }
        let turn = turnCredentials?.offer(to: peerSession.streamID, host: request.head.authority)
        return created(peerSession, name: name, tag: tag, link: turn?.link)
    }

    private func created(_ peerSession: PeerSession, name: String, tag: String, link: String?) -> Response {
        let location = "/\(kind.rawValue)/resource/\(name)"
        var headers: HTTPFields = [
            .contentType: MediaTypeName.description, .location: location, .eTag: tag,
            .acceptPatch: MediaTypeName.trickle, .streamID: peerSession.streamID.description,
            .cacheControl: "no-store",
        ]
        headers[.link] = link
        if !peerSession.ignoredCapabilities.isEmpty {
            headers[.ignoredCapabilities] = peerSession.ignoredCapabilities.joined(separator: ", ")
        }
        if kind == .whep { headers.append(HTTPField(name: .link, value: Self.layerLink(name))) }
        headers.append(
            HTTPField(name: .link, value: StreamEvents.link(to: "\(location)/events", isViewer: kind == .whep)))
        return Response(
            status: .created, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: peerSession.answer.text)))
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
        guard request.hasBody(ofType: MediaTypeName.trickle) else {
            return Responses.text(
                .unsupportedMediaType,
                "The content type is not supported: send a fragment as \(MediaTypeName.trickle).",
                [.acceptPatch: MediaTypeName.trickle])
        }
        let text = try await body(request)
        let fragment: TrickleFragment
        do {
            fragment = try TrickleFragment(parsing: text)
        } catch {
            throw APIError(.badRequest, "The SDP fragment is malformed: \(error).")
        }
        let fields = request.headers[values: .ifMatch]
        let condition = fields.isEmpty ? nil : EntityTagCondition(fields) ?? .tags([])
        if let ufrag = fragment.iceUfrag, ufrag != resource.remoteUfrag {
            return try await restart(name, resource, fragment, condition: condition)
        }
        // Older clients omit the condition, which is harmless before a restart.
        if condition == nil, resource.hasRestarted {
            return Responses.text(
                .preconditionRequired, "The If-Match header is missing: send the session's ETag in it.")
        }
        guard condition?.matches(resource.entityTag) ?? true else {
            return Responses.text(.preconditionFailed, "The ETag is outdated, because ICE was restarted since.")
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
            return Responses.text(status, "An ICE restart requires “If-Match: *”.")
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

/// A WHIP or WHEP session, which a resource URI represents.
struct WebRTCResource: Sendable {
    let peerSession: PeerSession
    /// The username fragment (ufrag) of the peer. A PATCH with another one requests an ICE restart.
    var remoteUfrag: String
    /// The strong entity tag, which changes with each restart (RFC 9725, section 4.3.1).
    var entityTag: String
    var hasRestarted = false
}

/// The sessions of an endpoint by their unguessable names. The maximum number of peers is the bound, because each
/// session has one.
actor WebRTCResources {
    private var resources: [String: WebRTCResource] = [:]

    func insert(_ resource: WebRTCResource, name: String) { resources[name] = resource }

    func find(_ name: String) -> WebRTCResource? { resources[name] }

    func restarted(_ name: String, remoteUfrag: String) -> String? {
        guard resources[name] != nil else { return nil }
        let tag = Self.newEntityTag()
        resources[name]?.remoteUfrag = remoteUfrag
        resources[name]?.entityTag = tag
        resources[name]?.hasRestarted = true
        return tag
    }

    @discardableResult
    func remove(_ name: String) -> WebRTCResource? { resources.removeValue(forKey: name) }

    static func newEntityTag() -> String { "\"\(RandomIdentifier.make().prefix(12))\"" }
}
