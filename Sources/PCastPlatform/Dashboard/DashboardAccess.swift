import HTTPTypes
import Hummingbird
import PCastCore
import PCastIO
import PCastWeb
import Synchronization

/// The authentication of the dashboard: a login with an application's credentials, then a cookie.
final class DashboardAccess: Sendable {
    private struct State {
        var logins = DashboardLogins()
    }

    /// The result of a login.
    enum Outcome: Sendable {
        case ticket(String)
        case wrong
        /// Too many logins have failed. The next attempt is possible after this time.
        case wait(TimeSpan)
    }

    /// The header field of all requests of the dashboard's script. A page of another site can only send it after a CORS
    /// preflight, which fails (Fetch Standard, section 3.2.2).
    static let header = HTTPField.Name("PCast-Dashboard")!

    private let authenticator: TokenAuthenticator
    private let credentials: CredentialCheck
    private let state = Mutex(State())

    init(authenticator: TokenAuthenticator, credentials: CredentialCheck) {
        (self.authenticator, self.credentials) = (authenticator, credentials)
    }

    func logIn(_ application: String, secret: String, from address: IPAddress?) -> Outcome {
        do throws(APIError) {
            try credentials.check(application, secret: secret, from: address)
        } catch {
            guard let wait = error.retryAfter else { return .wrong }
            return .wait(wait)
        }
        let ticket = RandomIdentifier.make()
        state.withLock { $0.logins.open(ticket, of: ApplicationID(application), at: MonotonicClock.now()) }
        return .ticket(ticket)
    }

    func logOut(_ request: Request, _ context: WebRequestContext) {
        guard let ticket = LoginCookie.ticket(of: request, context) else { return }
        state.withLock { $0.logins.close(ticket) }
    }

    /// Returns the application that is logged in; nil if none is.
    func application(of request: Request, _ context: WebRequestContext) -> ApplicationID? {
        guard let ticket = LoginCookie.ticket(of: request, context) else { return nil }
        let application = state.withLock { $0.logins.application(of: ticket, at: MonotonicClock.now()) }
        // The application may have been removed from the configuration.
        return application.flatMap { authenticator.applicationIDs.contains($0) ? $0 : nil }
    }

    /// Returns the application that is logged in, for a request of the dashboard's own script only; nil otherwise.
    func application(asking request: Request, _ context: WebRequestContext) -> ApplicationID? {
        guard request.isOfDashboard else { return nil }
        return application(of: request, context)
    }
}

extension Request {
    /// Whether the script of the platform's own page sent the request. Pages of other sites can set neither the header
    /// field nor the platform's origin.
    var isOfDashboard: Bool {
        guard headers[DashboardAccess.header] != nil else { return false }
        if let site = HTTPField.Name("Sec-Fetch-Site").flatMap({ headers[$0] }) { return site == "same-origin" }
        guard let origin = headers[.origin] else { return true }
        guard let host = head.authority else { return false }
        return origin == "http://\(host)" || origin == "https://\(host)"
    }
}
