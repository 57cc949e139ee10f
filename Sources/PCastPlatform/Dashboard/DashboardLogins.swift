import PCastMedia

/// Who is logged in to the dashboard: tickets that browsers show as cookies, and whose they are.
struct DashboardLogins: Sendable {
    private struct Login: Sendable {
        let application: ApplicationID
        let expiry: Instant
        /// When it was last shown.
        var shown: Instant
    }

    /// A login lasts so long, and ends before when nobody has shown it for a while; an open page shows it all the time.
    static let lifetime = TimeSpan.seconds(12 * 3_600 as Int64)
    static let idleness = TimeSpan.seconds(30 * 60 as Int64)

    /// At one time; beyond it the one that was shown longest ago ends.
    static let capacity = 1_000

    private var logins: [String: Login] = [:]

    /// - Parameter ticket: a name that cannot be guessed.
    mutating func open(_ ticket: String, of application: ApplicationID, at now: Instant) {
        logins = logins.filter { Self.lasts($0.value, at: now) }
        if logins.count >= Self.capacity, let oldest = logins.min(by: { $0.value.shown < $1.value.shown }) {
            logins[oldest.key] = nil
        }
        logins[ticket] = Login(application: application, expiry: now + Self.lifetime, shown: now)
    }

    /// Whose ticket it is; nil when it has expired, was closed or never was.
    mutating func application(of ticket: String, at now: Instant) -> ApplicationID? {
        guard let login = logins[ticket] else { return nil }
        guard Self.lasts(login, at: now) else {
            logins[ticket] = nil
            return nil
        }
        logins[ticket]?.shown = now
        return login.application
    }

    mutating func close(_ ticket: String) { logins[ticket] = nil }

    var count: Int { logins.count }

    private static func lasts(_ login: Login, at now: Instant) -> Bool {
        now < login.expiry && now - login.shown < idleness
    }
}
