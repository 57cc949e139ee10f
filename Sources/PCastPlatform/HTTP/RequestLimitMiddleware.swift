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

    /// The paths without this limit, because operators monitor them. Metrics have their own limit.
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
        guard !Self.free.contains(request.uri.path) else { return try await next(request, context) }
        do throws(APIError) {
            try limiter.takeRequest(from: context.clientAddress, at: MonotonicClock.now())
        } catch {
            return Responses.refusal(error, at: request.uri.path)
        }
        return try await next(request, context)
    }
}

extension Responses {
    /// Returns the response in the form of the endpoint at a path: JSON for the management API.
    static func refusal(_ refusal: APIError, at path: String) -> Response {
        guard path.hasPrefix("/pcast/") else { return Self.refusal(refusal) }
        let status: HTTPResponse.Status = refusal.kind == .rateLimited ? .tooManyRequests : .serviceUnavailable
        var response = ApplicationFailure(status, refusal.status.wire, refusal.message).response
        response.headers[.retryAfter] = refusal.retryAfterText
        return response
    }
}
