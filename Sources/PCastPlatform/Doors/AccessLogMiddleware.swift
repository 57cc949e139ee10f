import HTTPTypes
import Hummingbird
import Logging
import PCastWeb

/// Logs what was asked and answered, for debugging alone: by the route, since an address may hold a token, or the name of a
/// resource, which is a secret too.
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
            "answered",
            metadata: [
                "method": "\(request.method.rawValue)", "route": "\(context.endpointPath ?? "none")",
                "status": "\(status.code)",
            ])
    }
}
