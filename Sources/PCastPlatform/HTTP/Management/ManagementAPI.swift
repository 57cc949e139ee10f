import HTTPTypes
import Hummingbird
import Logging
import PCastCore
import PCastDatabase
import PCastWeb

/// The management API for applications' backends under `/pcast`: tokens, streams, callbacks, notifications and reports.
/// `/pcast/openapi.json` describes it.
struct ManagementAPI: Sendable {
    let authenticator: TokenAuthenticator
    let credentials: CredentialCheck
    let directory: StreamDirectory
    let kept: PlatformRecords
    let histories: StreamHistoryStore
    let dashboard: DashboardAccess
    let turnCredentials: TURNCredentialProvider?
    let logger: Logger

    typealias Handler = @Sendable (ApplicationRequest) async throws(ApplicationFailure) -> Response

    func addRoutes(to router: Router<WebRequestContext>) {
        let group = router.group("/pcast")
        add(group, "auth", [.post: issueAuthenticationToken])
        add(group, "stream", [.post: issueStreamToken, .delete: terminate])
        add(group, "stream/:stream", [.get: inspect])
        add(group, "stream/:stream/history", [.get: history])
        add(group, "streams", [.get: list])
        add(group, "application/:application/callback", [.get: callbacks, .put: setCallback, .delete: removeCallback])
        add(group, "application/:application/callback/:name", [.put: setCallback, .delete: removeCallback])
        add(group, "application/:application/notifications", [.get: notifications])
        add(group, "application/:application/notifications/redelivery", [.post: redeliver])
        add(group, "application/:application/notifications/:notification/redelivery", [.post: redeliver])
        add(group, "reporting/publishing", [.put: reportPublishing])
        add(group, "reporting/viewing", [.put: reportViewing])
        addOpenRoutes(to: group)
    }

    /// The methods that a path may not support. They are rejected with the `Allow` field (RFC 9110, section 15.5.6).
    private static let methods: [HTTPRequest.Method] = [
        .get, .head, .post, .put, .patch, .delete, .options, .trace, HTTPRequest.Method("QUERY") ?? .get,
    ]

    private func add(
        _ group: RouterGroup<WebRequestContext>, _ path: RouterPath, _ handlers: [HTTPRequest.Method: Handler]
    ) {
        for (method, handler) in handlers {
            group.on(path, method: method) { request, context in
                do throws(ApplicationFailure) {
                    let asked = try await ApplicationRequest.read(request, context, by: credentials, dashboard)
                    return try await handler(asked)
                } catch {
                    if error.status == .unauthorized {
                        logger.info(
                            "request rejected",
                            metadata: ["protocol": "pcast", "error": "wrong application credentials"])
                    }
                    return error.response
                }
            }
        }
        refuseOthers(group, path, than: Array(handlers.keys))
    }

    func refuseOthers(
        _ group: RouterGroup<WebRequestContext>, _ path: RouterPath, than methods: [HTTPRequest.Method]
    ) {
        // GET includes HEAD.
        let allowed = methods + (methods.contains(.get) ? [.head] : [])
        let names = allowed.map(\.rawValue).sorted().joined(separator: ", ")
        for method in Self.methods where !allowed.contains(method) {
            group.on(path, method: method) { _, _ in
                var response = ApplicationFailure(.methodNotAllowed, "bad-request", "Allowed here: \(names).").response
                response.headers[.allow] = names
                return response
            }
        }
    }

    /// Runs a database request and converts its errors, which are not the client's fault.
    ///
    /// - Throws: ``ApplicationFailure``.
    func ask<Answer>(
        _ question: () async throws(RecordsError) -> Answer
    ) async throws(ApplicationFailure) -> Answer {
        do {
            return try await question()
        } catch {
            logger.error("database unavailable", metadata: ["error": "\(error)"])
            throw .records
        }
    }
}
