import HTTPTypes
import Hummingbird
import Logging
import PCastWeb

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
