import PCastIO
import PCastMedia
import Synchronization

/// Checks secrets that could be guessed, wherever they are shown, with one limit for all of an address's failures.
final class CredentialCheck: Sendable {
    private let gatekeeper: Gatekeeper
    /// The failures by application, and by an empty name for everything else: guesses at one secret do not block the
    /// correct credentials of another application at the same address. Bounded by the number of applications.
    private let attempts = Mutex<[String: LoginAttempts]>([:])

    init(gatekeeper: Gatekeeper) { self.gatekeeper = gatekeeper }

    /// Checks an application's own secret.
    ///
    /// - Throws: `Refusal`: of kind `unauthorized` for a wrong one, `rateLimited` where too many were.
    func check(_ application: String, secret: String, from address: IPAddress?) throws(Refusal) {
        try check(of: gatekeeper.hasApplication(application) ? application : "", from: address) {
            gatekeeper.isApplication(application, secret: secret)
        }
    }

    /// Checks whatever `isRight` looks at; it is not asked while the address has to wait.
    ///
    /// - Parameter name: the application whose secret is tried, or an empty name.
    func check(of name: String = "", from address: IPAddress?, _ isRight: () -> Bool) throws(Refusal) {
        let now = MonotonicClock.now()
        let wait = attempts.withLock { $0[name, default: LoginAttempts()].wait(of: address, at: now) }
        guard wait == .zero else { throw .tooManyFailures(retryAfter: wait) }
        guard isRight() else {
            attempts.withLock { $0[name, default: LoginAttempts()].noteFailure(of: address, at: now) }
            throw Refusal(.unauthorized, "The credentials are wrong.")
        }
    }

    /// Compares in a time that tells nothing of where they differ.
    static func isSame(_ given: String, _ expected: String) -> Bool {
        let (given, expected) = (Array(given.utf8), Array(expected.utf8))
        var difference = given.count ^ expected.count
        for index in expected.indices {
            difference |= Int(expected[index] ^ (given.isEmpty ? 0 : given[index % given.count]))
        }
        return difference == 0
    }
}

extension Refusal {
    static func tooManyFailures(retryAfter wait: TimeSpan) -> Refusal {
        let seconds = Int(wait.seconds.rounded(.up))
        return Refusal(
            .rateLimited, "Too many attempts have failed: try again in \(seconds) s.",
            detail: "too many attempts with wrong credentials", retryAfter: wait)
    }
}
