import FoundationEssentials
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PCastCore
import PCastWeb

/// The dashboard at `/`, the administration page at `/administration`, and their login at `/dashboard/login`: POST
/// `{"applicationId":…,"secret":…}` or `{"token":…}` with a JSON Web Token logs in, GET returns the application that is
/// logged in, and DELETE logs out. The page uses the management API under `/pcast`, which
/// accepts the cookie.
struct DashboardRoutes: Sendable {
    let access: DashboardAccess
    let turnCredentials: TURNCredentialProvider?
    let logger: Logger
    /// Whether the dashboard of the application that administers the platform has a list of the nodes of a cluster.
    let hasNodes: Bool
    let administration: PlatformAdministration

    private static let path: RouterPath = "/dashboard/login"
    /// The maximum size of a login request, which may contain a JSON Web Token.
    private static let bodyLimit = 16 * 1_024

    /// The Content Security Policy: no resources or requests of other origins, and no embedding in other pages.
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        + "media-src 'self' blob: mediastream:; base-uri 'none'; form-action 'none'" + StaticPages.unframed

    private struct Credentials: Decodable {
        let applicationId: String?
        let secret: String?
        /// A JSON Web Token, instead of the other two.
        let token: String?
    }

    private struct Login: Encodable {
        let applicationId: String
        /// True if the page may read the nodes of the cluster; otherwise nil.
        var nodes: Bool?
    }

    private struct Failure: Encodable {
        let reason: String
    }

    func addRoutes(to router: Router<WebRequestContext>) {
        for (path, page) in [
            ("/" as RouterPath, PackageResources.dashboard_html),
            ("/administration", PackageResources.administration_html),
        ] {
            router.get(path) { request, context in
                let isLoggedIn = access.application(of: request, context) != nil
                var response = StaticPages.page(
                    isLoggedIn ? page : PackageResources.index_html, policy: Self.policy, isFramed: false)
                // The content depends on the login. The "back" button must not show it after a logout.
                response.headers[.cacheControl] = "no-store"
                response.headers[.crossOriginOpenerPolicy] = "same-origin"
                return response
            }
        }
        router.on(Self.path, method: .get) { request, context in
            guard let application = access.application(for: request, context) else { return Self.loggedOut }
            let nodes = hasNodes && administration.isAdministrator(application) ? true : nil
            return ApplicationAnswer.json(Login(applicationId: application.description, nodes: nodes))
        }
        router.on(Self.path, method: .post) { request, context in await logIn(request, context) }
        router.on(Self.path, method: .delete) { request, context in
            guard request.isOfDashboard else { return Self.loggedOut }
            access.logOut(request, context)
            var response = ApplicationAnswer.done
            response.headers[.setCookie] = LoginCookie.value(nil, context, isSecure: isSecure(context))
            return response
        }
    }

    private static var loggedOut: Response {
        ApplicationAnswer.json(Failure(reason: "No user is logged in."), .unauthorized)
    }

    private func isSecure(_ context: WebRequestContext) -> Bool {
        context.isSecureByProxy || turnCredentials?.isSecure(port: context.localPort) ?? false
    }

    private func logIn(_ request: Request, _ context: WebRequestContext) async -> Response {
        guard request.isOfDashboard, request.hasBody(ofType: "application/json") else {
            return ApplicationAnswer.json(
                Failure(reason: "The login request is not from the dashboard's page: log in on that page."), .forbidden)
        }
        var request = request
        guard let body = try? await request.collectBody(upTo: Self.bodyLimit),
            let credentials = try? JSONDecoder().decode(Credentials.self, from: Data(body.readableBytesView)),
            credentials.token != nil || (credentials.applicationId != nil && credentials.secret != nil)
        else {
            return ApplicationAnswer.json(
                Failure(
                    reason: "The login request is malformed: send “applicationId” and “secret”, or “token”, in JSON."),
                .badRequest)
        }
        let clientContext = request.clientContext(context)
        let metadata: Logger.Metadata = ["address": "\(clientContext.address.map(\.description) ?? "unknown")"]
        let outcome =
            if let token = credentials.token {
                await access.logIn(token: token)
            } else {
                access.logIn(
                    credentials.applicationId ?? "", secret: credentials.secret ?? "", from: clientContext.address)
            }
        switch outcome {
        case .ticket(let ticket, of: let application):
            logger.info(
                "logged in to the dashboard",
                metadata: metadata.merging(["application": "\(application)"]) { $1 })
            var response = ApplicationAnswer.json(Login(applicationId: application.description))
            response.headers[.setCookie] = LoginCookie.value(ticket, context, isSecure: isSecure(context))
            return response
        case .wrong:
            logger.notice("dashboard login failed", metadata: metadata)
            return ApplicationAnswer.json(
                Failure(
                    reason: credentials.token == nil
                        ? "The application ID or the secret is wrong."
                        : "The token is not valid here, or has no role: request another one from its issuer."),
                .unauthorized)
        case .wait(let time):
            let seconds = Int(time.seconds.rounded(.up))
            var response = ApplicationAnswer.json(
                Failure(reason: "Too many attempts have failed: retry in \(seconds) s."), .tooManyRequests)
            response.headers[.retryAfter] = "\(seconds)"
            return response
        }
    }
}
