import HTTPTypes
import Hummingbird
import PCastCore
import PCastIO
import PCastJWT
import PCastWeb
import Synchronization

/// The authentication of the dashboard: a login with an application's credentials or a JSON Web Token with a role, then a
/// cookie.
final class DashboardAccess: Sendable {
    private struct State {
        var logins = DashboardLogins()
    }

    /// The result of a login.
    enum Outcome: Sendable {
        case ticket(String, of: ApplicationID)
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
        // The secret may have changed meanwhile, which ends only the logins that exist at that time.
        guard authenticator.isApplication(application, secret: secret) else {
            state.withLock { $0.logins.close(ticket) }
            return .wrong
        }
        return .ticket(ticket, of: ApplicationID(application))
    }

    /// Logs in with a JSON Web Token. The login has its role, and ends with it.
    func logIn(token: String) async -> Outcome {
        do throws(APIError) {
            let (application, role, subject, expires) = try await authenticator.administrator(token)
            let ticket = RandomIdentifier.make()
            let remaining = max(expires - MonotonicClock.wallTime(), .zero)
            state.withLock { state in
                let now = MonotonicClock.now()
                state.logins.open(
                    ticket, of: application, role: role, subject: subject, until: now + remaining, at: now)
            }
            return .ticket(ticket, of: application)
        } catch {
            return .wrong
        }
    }

    func logOut(_ request: Request, _ context: WebRequestContext) {
        guard let ticket = LoginCookie.ticket(of: request, context) else { return }
        state.withLock { $0.logins.close(ticket) }
    }

    /// Ends the logins of an application, whose secret has changed, or which was removed.
    func logOut(_ application: ApplicationID) { state.withLock { $0.logins.close(application) } }

    /// Returns the application that is logged in; nil if none is.
    func application(of request: Request, _ context: WebRequestContext) -> ApplicationID? {
        login(of: request, context)?.application
    }

    private func login(of request: Request, _ context: WebRequestContext) -> DashboardLogins.Login? {
        guard let ticket = LoginCookie.ticket(of: request, context) else { return nil }
        let login = state.withLock { $0.logins.login(of: ticket, at: MonotonicClock.now()) }
        // The application may have been removed from the configuration.
        return login.flatMap { authenticator.applicationIDs.contains($0.application) ? $0 : nil }
    }

    /// Returns the login of a request of the dashboard's own script; nil for another request, or if no user is logged in.
    func login(for request: Request, _ context: WebRequestContext) -> DashboardLogins.Login? {
        guard request.isOfDashboard else { return nil }
        return login(of: request, context)
    }

    /// Returns the application that is logged in, for a request of the dashboard's own script only; nil otherwise.
    func application(for request: Request, _ context: WebRequestContext) -> ApplicationID? {
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

/// The cookie of a login (RFC 6265). Scripts cannot read it, requests of other sites do not send it, and it expires
/// with the login.
enum LoginCookie {
    /// Returns the name of the cookie. Cookies do not depend on the port, so the name contains it. Otherwise two
    /// platforms on one host would overwrite each other's cookie. With TLS, the prefix `__Host-` restricts the cookie
    /// to this host and to TLS.
    private static func name(_ context: WebRequestContext, isSecure: Bool) -> String {
        "\(isSecure ? "__Host-" : "")pcast-login-\(context.localPort ?? 0)"
    }

    /// Returns the value of `Set-Cookie`. A nil ticket deletes the cookie.
    static func value(_ ticket: String?, _ context: WebRequestContext, isSecure: Bool) -> String {
        let age = ticket == nil ? 0 : Int(DashboardLogins.lifetime.seconds)
        return "\(name(context, isSecure: isSecure))=\(ticket ?? ""); Path=/; Max-Age=\(age); HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "")
    }

    static func ticket(of request: Request, _ context: WebRequestContext) -> String? {
        let names = [true, false].map { name(context, isSecure: $0) }
        for field in request.headers[values: .cookie] {
            for pair in field.split(separator: ";") {
                let parts = pair.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, names.contains(String(parts[0]).trimmingSpaces) else { continue }
                return String(parts[1]).trimmingSpaces
            }
        }
        return nil
    }
}

/// The logins to the dashboard: the tickets in the cookies of browsers, and their applications.
struct DashboardLogins: Sendable {
    struct Login: Sendable {
        let application: ApplicationID
        let role: AdministrationRole
        /// The subject of the JSON Web Token; nil for a secret, or if absent.
        let subject: String?
        fileprivate let expiry: Instant
        /// The time at which the ticket was last used.
        fileprivate var shown: Instant
    }

    /// The maximum duration of a login, and the time without use after which it ends. An open page uses it
    /// continuously.
    static let lifetime = TimeSpan.seconds(12 * 3_600 as Int64)
    static let idleness = TimeSpan.seconds(30 * 60 as Int64)

    /// The maximum number of logins. Beyond it, the least recently used one ends.
    static let capacity = 1_000

    private var logins: [String: Login] = [:]

    /// Adds a login, which ends at `end` at the latest. The ticket must be unguessable.
    mutating func open(
        _ ticket: String, of application: ApplicationID, role: AdministrationRole = .administer, subject: String? = nil,
        until end: Instant? = nil, at now: Instant
    ) {
        logins = logins.filter { Self.isValid($0.value, at: now) }
        if logins.count >= Self.capacity, let oldest = logins.min(by: { $0.value.shown < $1.value.shown }) {
            logins[oldest.key] = nil
        }
        let expiry = min(now + Self.lifetime, end ?? now + Self.lifetime)
        logins[ticket] = Login(application: application, role: role, subject: subject, expiry: expiry, shown: now)
    }

    /// Returns the application of a ticket; nil if the login ended or never existed.
    mutating func application(of ticket: String, at now: Instant) -> ApplicationID? {
        login(of: ticket, at: now)?.application
    }

    /// Returns the login of a ticket; nil if it ended or never existed.
    mutating func login(of ticket: String, at now: Instant) -> Login? {
        guard let login = logins[ticket] else { return nil }
        guard Self.isValid(login, at: now) else {
            logins[ticket] = nil
            return nil
        }
        logins[ticket]?.shown = now
        return login
    }

    mutating func close(_ ticket: String) { logins[ticket] = nil }

    mutating func close(_ application: ApplicationID) {
        logins = logins.filter { $0.value.application != application }
    }

    var count: Int { logins.count }

    private static func isValid(_ login: Login, at now: Instant) -> Bool {
        now < login.expiry && now - login.shown < idleness
    }
}

/// The failed logins by address. An address has ten attempts, and then one every six seconds, so that secrets cannot be
/// guessed.
struct LoginAttempts: Sendable {
    private struct Bucket: Sendable {
        var used: Double
        var at: Instant

        mutating func leak(to now: Instant) {
            used = max(used - (now - at).seconds / LoginAttempts.interval.seconds, 0)
            at = now
        }
    }

    static let burst = 10.0
    static let interval = TimeSpan.seconds(6 as Int64)

    /// The maximum number of stored addresses. Further ones share a bucket.
    static let capacity = 4_096

    private var buckets: [IPAddress?: Bucket] = [:]
    private var others = Bucket(used: 0, at: Instant(nanoseconds: 0))

    /// Returns the time until an address may try again; zero if it may try now.
    mutating func wait(of address: IPAddress?, at now: Instant) -> TimeSpan {
        var bucket = buckets[Self.key(address)] ?? (buckets.count < Self.capacity ? nil : others)
        bucket?.leak(to: now)
        guard let bucket, bucket.used > Self.burst - 1 else { return .zero }
        return TimeSpan(seconds: (bucket.used - (Self.burst - 1)) * Self.interval.seconds)
    }

    mutating func noteFailure(of address: IPAddress?, at now: Instant) {
        let key = Self.key(address)
        if buckets[key] == nil, buckets.count >= Self.capacity { discard(at: now) }
        guard buckets[key] != nil || buckets.count < Self.capacity else {
            others.leak(to: now)
            others.used += 1
            return
        }
        var bucket = buckets[key] ?? Bucket(used: 0, at: now)
        bucket.leak(to: now)
        bucket.used += 1
        buckets[key] = bucket
    }

    /// Removes the addresses whose attempts are all available again.
    private mutating func discard(at now: Instant) {
        buckets = buckets.filter { _, bucket in
            var bucket = bucket
            bucket.leak(to: now)
            return bucket.used > 0
        }
    }

    /// Returns the unit that is counted: an IPv4 address, or an IPv6 /64 network, because one customer has all of its
    /// addresses (RFC 6177).
    private static func key(_ address: IPAddress?) -> IPAddress? {
        guard let address, address.family == .v6 else { return address }
        return IPAddress(v6: address.v6.high, 0)
    }
}
