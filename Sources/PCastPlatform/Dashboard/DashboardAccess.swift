import HTTPTypes
import Hummingbird
import PCastIO
import PCastMedia
import PCastWeb
import Synchronization

/// Who may use the dashboard: logs in with an application's credentials, and is known by a cookie from then on.
final class DashboardAccess: Sendable {
    private struct State {
        var logins = DashboardLogins()
    }

    /// What came of an attempt to log in.
    enum Outcome: Sendable {
        case ticket(String)
        case wrong
        /// Too many have failed: not before so long.
        case wait(TimeSpan)
    }

    /// Of each request that the dashboard's script makes. No page of another site can send it without asking first, and is
    /// refused then (Fetch, section 3.2.2: CORS-preflight).
    static let header = HTTPField.Name("PCast-Dashboard")!

    private let gatekeeper: Gatekeeper
    private let credentials: CredentialCheck
    private let state = Mutex(State())

    init(gatekeeper: Gatekeeper, credentials: CredentialCheck) {
        (self.gatekeeper, self.credentials) = (gatekeeper, credentials)
    }

    func logIn(_ application: String, secret: String, from address: IPAddress?) -> Outcome {
        do throws(Refusal) {
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

    /// Whose dashboard a page is of; nil for who has not logged in.
    func application(of request: Request, _ context: WebRequestContext) -> ApplicationID? {
        guard let ticket = LoginCookie.ticket(of: request, context) else { return nil }
        let application = state.withLock { $0.logins.application(of: ticket, at: MonotonicClock.now()) }
        // It may not count any more.
        return application.flatMap { gatekeeper.applicationIDs.contains($0) ? $0 : nil }
    }

    /// The same for what a page asks, which must be our own.
    func application(asking request: Request, _ context: WebRequestContext) -> ApplicationID? {
        guard request.isOfDashboard else { return nil }
        return application(of: request, context)
    }
}

extension Request {
    /// Whether our own page has made it, by its script: another site's cannot set the header, nor its own origin.
    var isOfDashboard: Bool {
        guard headers[DashboardAccess.header] != nil else { return false }
        if let site = HTTPField.Name("Sec-Fetch-Site").flatMap({ headers[$0] }) { return site == "same-origin" }
        guard let origin = headers[.origin] else { return true }
        guard let host = head.authority else { return false }
        return origin == "http://\(host)" || origin == "https://\(host)"
    }
}
