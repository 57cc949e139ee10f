import PCastCore

/// The logins to the dashboard: the tickets in the cookies of browsers, and their applications.
struct DashboardLogins: Sendable {
    private struct Login: Sendable {
        let application: ApplicationID
        let expiry: Instant
        /// The time at which the ticket was last used.
        var shown: Instant
    }

    /// The maximum duration of a login, and the time without use after which it ends. An open page uses it
    /// continuously.
    static let lifetime = TimeSpan.seconds(12 * 3_600 as Int64)
    static let idleness = TimeSpan.seconds(30 * 60 as Int64)

    /// The maximum number of logins. Beyond it, the least recently used one ends.
    static let capacity = 1_000

    private var logins: [String: Login] = [:]

    /// Adds a login. The ticket must be unguessable.
    mutating func open(_ ticket: String, of application: ApplicationID, at now: Instant) {
        logins = logins.filter { Self.lasts($0.value, at: now) }
        if logins.count >= Self.capacity, let oldest = logins.min(by: { $0.value.shown < $1.value.shown }) {
            logins[oldest.key] = nil
        }
        logins[ticket] = Login(application: application, expiry: now + Self.lifetime, shown: now)
    }

    /// Returns the application of a ticket; nil if the login ended or never existed.
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
