import HTTPTypes
import Hummingbird
import PCastWeb

/// Lets pages of other sites speak WHIP and WHEP (WH2): their requests carry a token, so nothing is given away that the
/// token does not give.
struct CrossOriginMiddleware: RouterMiddleware {
    func handle(
        _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        response.headers[.accessControlAllowOrigin] = "*"
        response.headers[.accessControlExposeHeaders] = "Location, Link, ETag, Accept-Patch, PCast-Stream-Id"
        return response
    }

    /// The answer to a preflight, which carries no token.
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
