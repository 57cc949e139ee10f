import PCastCore
import PCastIO
import PCastSignaling
import PCastWebRTC
import Synchronization

/// An error of a request: the message for the client and the details for the log.
struct APIError: Error, Sendable {
    enum Kind: Sendable {
        case badRequest
        case tooLarge
        case unauthorized
        case noStreamPlaying
        case gone
        case unsupported
        case capacity
        case rateLimited
        case conflict
        case failed
        case notReady
    }

    let kind: Kind
    /// The message for the client. It says what to do next, and contains nothing of a token.
    let message: String
    /// The details for the log.
    let detail: String
    /// The time after which a retry is useful; nil if unknown.
    let retryAfter: TimeSpan?
    /// The media sections of the client's session description that cannot be accepted.
    let sections: [SectionProblem]

    init(
        _ kind: Kind, _ message: String, detail: String? = nil, retryAfter: TimeSpan? = nil,
        sections: [SectionProblem] = []
    ) {
        self.kind = kind
        self.sections = sections
        self.message = message
        self.detail = detail ?? message
        self.retryAfter = retryAfter
    }

    /// Returns the error for a session description of which nothing, or not all that was requested, can be accepted.
    static func unacceptable(_ sections: [SectionProblem]) -> APIError {
        let text = sections.prefix(maximumReportedSections).map(\.description).joined(separator: " ")
        return APIError(.unsupported, text, sections: Array(sections.prefix(maximumReportedSections)))
    }

    /// The maximum number of media sections in the message.
    private static let maximumReportedSections = 8

    static let noToken = APIError(.unauthorized, "A token is required: send it as “Authorization: Bearer …”.")

    static func token(_ detail: String) -> APIError {
        APIError(.unauthorized, "The token is not valid for this request: get a new one.", detail: detail)
    }

    static let ended = APIError(.gone, "The session does not exist or has ended.")

    static let noStream = APIError(.noStreamPlaying, "The stream does not exist or is not live.")

    /// The status of the signaling protocol.
    var status: RequestStatus {
        switch kind {
        case .badRequest, .tooLarge: .badRequest
        case .unauthorized: .unauthorized
        case .noStreamPlaying: .noStreamPlaying
        case .gone: .gone
        case .unsupported: .badRequest
        case .capacity: .capacity
        case .rateLimited: .rateLimited
        case .conflict: .conflict
        case .failed: .failed
        case .notReady: .notReady
        }
    }

    /// The status text of the signaling protocol, which is more specific than the status.
    var wire: String { kind == .unsupported ? "unsupported-features" : status.wire }
}

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

    /// Checks a secret with `isRight`, which is not called while the address must wait. `name` is the application whose
    /// secret is checked, or empty.
    ///
    /// - Throws: ``APIError`` with the kind `unauthorized` if it is wrong, or `rateLimited` after too many failures.
    func check(of name: String = "", from address: IPAddress?, _ isRight: () -> Bool) throws(APIError) {
        let now = MonotonicClock.now()
        let wait = attempts.withLock { $0[name, default: LoginAttempts()].wait(of: address, at: now) }
        guard wait == .zero else { throw .tooManyFailures(retryAfter: wait) }
        guard isRight() else {
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
