import HTTPTypes
import Hummingbird
import Logging
import PCastIO
import PCastSignaling
import PCastWeb

/// Determines the client of each request, and rejects requests that exceed the rate limit.
struct RequestLimitMiddleware: RouterMiddleware {
    let limiter: RequestLimiter
    let logger: Logger

    /// The paths without this limit, because operators monitor them. Metrics have their own limit, and signed paths of
    /// media have none.
    private static let free: Set<String> = ["/healthz", "/metrics"]

    func handle(
        _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        let fields = { (name: String) in HTTPField.Name(name).map { request.headers[values: $0] } ?? [] }
        context.isSecureByProxy = limiter.isSecure(through: context.clientAddress, fields: fields)
        let caller = limiter.caller(context.clientAddress, fields: fields)
        if caller.isHidden { limiter.noteHidden(caller, logger) }
        (context.clientAddress, context.isHiddenByProxy) = (caller.address, caller.isHidden)
        let path = request.uri.path
        guard !Self.free.contains(path), !VideoRoutes.isSigned(path), !RecordingRoutes.isSigned(path) else {
            return try await next(request, context)
        }
        do throws(APIError) {
            try limiter.takeRequest(from: context.clientAddress, at: MonotonicClock.now())
        } catch {
            return Responses.refusal(error, at: path)
        }
        return try await next(request, context)
    }
}

extension Responses {
    /// Returns the response in the form of the endpoint at a path: JSON for the management API, and a problem report for
    /// WHIP and WHEP.
    static func refusal(_ refusal: APIError, at path: String) -> Response {
        if WebRTCHTTPController.Kind.allCases.contains(where: { $0.contains(path: path) }) { return problem(refusal) }
        guard path.hasPrefix("/pcast/") else { return Self.refusal(refusal) }
        let status: HTTPResponse.Status = refusal.kind == .rateLimited ? .tooManyRequests : .serviceUnavailable
        var response = ApplicationFailure(status, refusal.status.wire, refusal.message).response
        response.headers[.retryAfter] = refusal.retryAfterText
        return response
    }
}

/// Permits pages of other sites to use WHIP, WHEP, HLS and the events of names (CORS). Their requests carry a token, so
/// CORS gives no additional access. Phenix's Web SDK also asks for the endpoints and posts telemetry, without a token.
/// Error responses have the header fields too, because the page could not read them otherwise.
struct CrossOriginMiddleware: RouterMiddleware {
    private static let routes =
        WebRTCHTTPController.Kind.allCases.map { "/\($0.rawValue)" } + [
            "/pcast/endPoints", "/pcast/endPoint", ManagementAPI.nameEventsPath, TelemetryRoutes.path,
            VideoRoutes.folder, RecordingRoutes.folder,
        ]

    func handle(
        _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
    ) async throws -> Response {
        let path = request.uri.path
        guard Self.routes.contains(where: { path == $0 || path.hasPrefix($0 + "/") }) else {
            return try await next(request, context)
        }
        var response: Response
        do {
            response = try await next(request, context)
        } catch let error as any HTTPResponseError {
            response = try error.response(from: request, context: context)
        }
        Self.permit(&response.headers)
        return response
    }

    /// Adds the header fields that permit any page to read a response.
    static func permit(_ headers: inout HTTPFields) {
        headers[.accessControlAllowOrigin] = "*"
        headers[.accessControlExposeHeaders] =
            "Location, Link, ETag, Accept-Patch, Accept-Post, Allow, Retry-After, WWW-Authenticate, PCast-Stream-Id, "
            + "PCast-Ignored-Capabilities"
    }

    /// Returns the response to a preflight request, which carries no token.
    static func preflight(allow methods: String, accept: String?) -> Response {
        var headers: HTTPFields = [
            .accessControlAllowMethods: methods, .allow: methods,
            .accessControlAllowHeaders: "Authorization, Content-Type, If-Match",
            .accessControlMaxAge: "86400",
        ]
        if let accept { headers[.acceptPost] = accept }
        return Response(status: .noContent, headers: headers)
    }
}

/// Logs requests and responses at the debug level. It logs the route and not the path, because a path may contain a
/// token or the secret name of a resource.
struct AccessLogMiddleware: RouterMiddleware {
    let logger: Logger

    func handle(
        _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
    ) async throws -> Response {
        do {
            let response = try await next(request, context)
            log(request, context, response.status)
            return response
        } catch {
            log(request, context, (error as? any HTTPResponseError)?.status ?? .internalServerError)
            throw error
        }
    }

    private func log(_ request: Request, _ context: WebRequestContext, _ status: HTTPResponse.Status) {
        logger.debug(
            "request",
            metadata: [
                "method": "\(request.method.rawValue)", "route": "\(context.endpointPath ?? "none")",
                "status": "\(status.code)",
            ])
    }
}

/// Answers a request for an unknown address with a sentence, or with JSON under the path of the management API. Browsers
/// would otherwise show their own error page.
struct UnknownAddressMiddleware: RouterMiddleware {
    func handle(
        _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound && error.body == nil {
            guard !request.uri.path.hasPrefix("/pcast/") else { return ApplicationFailure.notFound.response }
            return Responses.text(.notFound, "This platform has nothing at this address.")
        }
    }
}

/// Removes the content of all responses to HEAD, including errors. Clients would otherwise read it as the beginning of
/// the next response (RFC 9110, section 9.3.2).
struct HeadRequestMiddleware: RouterMiddleware {
    func handle(
        _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
    ) async throws -> Response {
        guard request.method == .head else { return try await next(request, context) }
        do {
            return try await next(request, context).createHeadResponse()
        } catch let error as any HTTPResponseError {
            return try error.response(from: request, context: context).createHeadResponse()
        }
    }
}
