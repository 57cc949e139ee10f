import HTTPTypes
import Hummingbird
import NIOCore
import PCastMedia

/// Why a request of an application's backend was not done: a status, and the word that its answer has.
struct ApplicationFailure: Error {
    let status: HTTPResponse.Status
    let word: String
    /// What to do; for people.
    let reason: String?
    /// When it is worth while to ask again; nil where that is not known.
    var retryAfter: String?

    init(_ status: HTTPResponse.Status, _ word: String, _ reason: String? = nil) {
        self.status = status
        self.word = word
        self.reason = reason
    }

    static let unauthorized = ApplicationFailure(.unauthorized, "unauthorized")

    /// The dashboard's login is over.
    static let loggedOut = ApplicationFailure(.unauthorized, "logged-out", "Log in again.")

    static let notFound = ApplicationFailure(.notFound, "not-found")

    static let records = ApplicationFailure(
        .serviceUnavailable, "failed", "The records cannot be read or written: try again later.")

    static func badRequest(_ reason: String) -> ApplicationFailure {
        ApplicationFailure(.badRequest, "bad-request", reason)
    }

    static func tooManyFailures(retryAfter wait: TimeSpan) -> ApplicationFailure {
        let refusal = Refusal.tooManyFailures(retryAfter: wait)
        var failure = ApplicationFailure(.tooManyRequests, refusal.wire, refusal.message)
        failure.retryAfter = refusal.retryAfterText
        return failure
    }

    private struct Body: Encodable {
        let status: String
        let reason: String?
    }

    var response: Response {
        var response = ApplicationAnswer.json(Body(status: word, reason: reason), status)
        if status == .unauthorized {
            // A browser asks for name and password by itself when it is challenged by Basic: the dashboard has a page for it.
            let scheme = word == Self.loggedOut.word ? "Cookie" : "Basic"
            response.headers[.wwwAuthenticate] = "\(scheme) realm=\"pcast\""
        }
        if status == .serviceUnavailable { response.headers[.retryAfter] = "5" }
        if let retryAfter { response.headers[.retryAfter] = retryAfter }
        return response
    }
}
