import PCastIO
import PCastMedia
import Synchronization

/// A check of secrets that could be guessed. All endpoints share its limit of failures per address.
final class CredentialCheck: Sendable {
    private let gatekeeper: Gatekeeper
    /// The failures by application, with an empty name for all other secrets. Guesses at one secret therefore do not
    /// block the valid credentials of another application at the same address. The number of applications is the bound.
    private let attempts = Mutex<[String: LoginAttempts]>([:])

    init(gatekeeper: Gatekeeper) { self.gatekeeper = gatekeeper }

    /// Checks the secret of an application.
    ///
    /// - Throws: ``Refusal`` with the kind `unauthorized` if it is wrong, or `rateLimited` after too many failures.
    func check(_ application: String, secret: String, from address: IPAddress?) throws(Refusal) {
        try check(of: gatekeeper.hasApplication(application) ? application : "", from: address) {
            gatekeeper.isApplication(application, secret: secret)
        }
    }

    /// Checks a secret with `isRight`, which is not called while the address must wait. `name` is the application whose
    /// secret is checked, or empty.
    ///
    /// - Throws: ``Refusal`` with the kind `unauthorized` if it is wrong, or `rateLimited` after too many failures.
    func check(of name: String = "", from address: IPAddress?, _ isRight: () -> Bool) throws(Refusal) {
        let now = MonotonicClock.now()
        let wait = attempts.withLock { $0[name, default: LoginAttempts()].wait(of: address, at: now) }
        guard wait == .zero else { throw .tooManyFailures(retryAfter: wait) }
        guard isRight() else {
            attempts.withLock { $0[name, default: LoginAttempts()].noteFailure(of: address, at: now) }
            throw Refusal(.unauthorized, "The credentials are wrong.")
        }
    }

    /// Compares two strings in a time that does not depend on the position of their first difference.
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
