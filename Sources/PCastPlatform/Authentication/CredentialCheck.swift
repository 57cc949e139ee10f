import PCastCore
import PCastIO
import Synchronization

/// A check of secrets that could be guessed. All endpoints share its limit of failures per address.
final class CredentialCheck: Sendable {
    private let authenticator: TokenAuthenticator
    /// The failures by a hash of the application's name, with nil for all other secrets. Guesses at one secret therefore
    /// rarely block the valid credentials of another application at the same address.
    ///
    /// Names of existing and of unknown applications are treated in the same way. Otherwise the limit would show which
    /// names exist.
    private let attempts = Mutex<[Int?: LoginAttempts]>([:])
    /// A random number, so that nobody can choose names with the same hash.
    private let hashKey = UInt64.random(in: 0 ... .max)
    /// The number of hashes, which bounds the memory.
    private static let hashes: UInt = 256

    init(authenticator: TokenAuthenticator) { self.authenticator = authenticator }

    /// Checks the secret of an application.
    ///
    /// - Throws: ``APIError`` with the kind `unauthorized` if it is wrong, or `rateLimited` after too many failures.
    func check(_ application: String, secret: String, from address: IPAddress?) throws(APIError) {
        try check(of: hash(application), from: address) {
            authenticator.isApplication(application, secret: secret)
        }
    }

    /// Checks a secret that is not that of an application with `isCorrect`, which is not called while the address must
    /// wait.
    ///
    /// - Throws: ``APIError`` with the kind `unauthorized` if it is wrong, or `rateLimited` after too many failures.
    func check(from address: IPAddress?, _ isCorrect: () -> Bool) throws(APIError) {
        try check(of: nil, from: address, isCorrect)
    }

    private func check(of hash: Int?, from address: IPAddress?, _ isCorrect: () -> Bool) throws(APIError) {
        let now = MonotonicClock.now()
        let wait = attempts.withLock { $0[hash]?.wait(of: address, at: now) ?? .zero }
        guard wait == .zero else { throw .tooManyFailures(retryAfter: wait) }
        guard isCorrect() else {
            attempts.withLock { $0[hash, default: LoginAttempts()].noteFailure(of: address, at: now) }
            throw APIError(.unauthorized, "The credentials are wrong.")
        }
    }

    /// Returns a hash of a name, which is the same for equivalent spellings.
    private func hash(_ name: String) -> Int {
        var hasher = Hasher()
        hasher.combine(hashKey)
        hasher.combine(name)
        return Int(UInt(bitPattern: hasher.finalize()) % Self.hashes)
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
