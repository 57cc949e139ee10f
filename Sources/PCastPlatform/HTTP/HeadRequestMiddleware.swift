import HTTPTypes
import Hummingbird
import PCastWeb

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
