import PCastCore
import PCastIO
import Synchronization

/// A check of secrets that could be guessed. All endpoints share its limit of failures per address.
final class CredentialCheck: Sendable {
    private let authenticator: TokenAuthenticator
    /// The failures by application, with an empty name for all other secrets. Guesses at one secret therefore do not
    /// block the valid credentials of another application at the same address. The number of applications is the bound.
    private let attempts = Mutex<[String: LoginAttempts]>([:])

    init(authenticator: TokenAuthenticator) { self.authenticator = authenticator }

    /// Checks the secret of an application.
    ///
    /// - Throws: ``APIError`` with the kind `unauthorized` if it is wrong, or `rateLimited` after too many failures.
    func check(_ application: String, secret: String, from address: IPAddress?) throws(APIError) {
        try check(of: authenticator.hasApplication(application) ? application : "", from: address) {
            authenticator.isApplication(application, secret: secret)
        }
    }

    /// Checks a secret with `isCorrect`, which is not called while the address must wait. `name` is the application whose
    /// secret is checked, or empty.
    ///
    /// - Throws: ``APIError`` with the kind `unauthorized` if it is wrong, or `rateLimited` after too many failures.
    func check(of name: String = "", from address: IPAddress?, _ isCorrect: () -> Bool) throws(APIError) {
        let now = MonotonicClock.now()
        let wait = attempts.withLock { $0[name, default: LoginAttempts()].wait(of: address, at: now) }
        guard wait == .zero else { throw .tooManyFailures(retryAfter: wait) }
        guard isCorrect() else {
            attempts.withLock { $0[name, default: LoginAttempts()].noteFailure(of: address, at: now) }
            throw APIError(.unauthorized, "The credentials are wrong.")
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

extension APIError {
    static func tooManyFailures(retryAfter wait: TimeSpan) -> APIError {
        let seconds = Int(wait.seconds.rounded(.up))
        return APIError(
            .rateLimited, "Too many attempts have failed: retry in \(seconds) s.",
            detail: "too many attempts with wrong credentials", retryAfter: wait)
    }
}
