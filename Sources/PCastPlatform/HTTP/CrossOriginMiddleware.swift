import HTTPTypes
import Hummingbird
import PCastWeb

/// Permits pages of other sites to use WHIP and WHEP (CORS). Their requests carry a token, so CORS gives no additional
/// access. Phenix's Web SDK also asks for the endpoints and posts telemetry, without a token. Error responses have the
/// header fields too, because the page could not read them otherwise.
struct CrossOriginMiddleware: RouterMiddleware {
    private static let routes =
        WebRTCHTTPController.Kind.allCases.map { "/\($0.rawValue)" } + [
            "/pcast/endPoints", "/pcast/endPoint", TelemetryRoutes.path,
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
        response.headers[.accessControlAllowOrigin] = "*"
        response.headers[.accessControlExposeHeaders] =
            "Location, Link, ETag, Accept-Patch, Accept-Post, Allow, Retry-After, WWW-Authenticate, PCast-Stream-Id, "
            + "PCast-Ignored-Capabilities"
        return response
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
