import HTTPTypes
import Hummingbird
import NIOCore
import PCastCore

/// An error of a request to the management API: an HTTP status and the status text of the response.
struct ApplicationFailure: Error {
    let status: HTTPResponse.Status
    let word: String
    /// The error and its remedy in English; nil if the status text is sufficient.
    let reason: String?
    /// The value of `Retry-After`; nil if unknown.
    var retryAfter: String?

    init(_ status: HTTPResponse.Status, _ word: String, _ reason: String? = nil) {
        self.status = status
        self.word = word
        self.reason = reason
    }

    static let unauthorized = ApplicationFailure(.unauthorized, "unauthorized")

    /// The login of the dashboard has ended.
    static let loggedOut = ApplicationFailure(.unauthorized, "logged-out", "Log in again.")

    static let notFound = ApplicationFailure(.notFound, "not-found")

    static let records = ApplicationFailure(
        .serviceUnavailable, "failed", "The database cannot be read or written: retry later.")

    static func badRequest(_ reason: String) -> ApplicationFailure {
        ApplicationFailure(.badRequest, "bad-request", reason)
    }

    static func tooManyFailures(retryAfter wait: TimeSpan) -> ApplicationFailure {
        let refusal = APIError.tooManyFailures(retryAfter: wait)
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
            // A browser shows its own login dialog for the challenge Basic, but the dashboard has a login page.
            let scheme = word == Self.loggedOut.word ? "Cookie" : "Basic"
            response.headers[.wwwAuthenticate] = "\(scheme) realm=\"pcast\""
        }
        if status == .serviceUnavailable { response.headers[.retryAfter] = "5" }
        if let retryAfter { response.headers[.retryAfter] = retryAfter }
        return response
    }
}
