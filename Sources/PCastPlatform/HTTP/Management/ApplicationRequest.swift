import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import PCastCore
import PCastJWT
import PCastWeb

/// An authenticated request to the management API.
struct ApplicationRequest {
    let application: ApplicationID
    /// The role of the client. Who knows the application's secret administers it.
    let role: AdministrationRole
    /// The sender, for the audit log.
    let author: RequestAuthor
    let query: [String: String]
    /// The `Host` field as received, such as `HOST:PORT`; nil if absent.
    let host: String?
    /// The identifier of the last event that the client of an event stream knows (HTML Standard, section 9.2.4); nil if
    /// absent. Pages send it as the query item `after`, because a header field would need the permission of a preflight.
    let lastEventID: String?
    private let parameters: Parameters
    private let body: Data

    /// The maximum size of the content in bytes.
    private static let bodyLimit = 64 * 1024

    private struct Credentials: Decodable {
        let applicationId: String
        let secret: String
    }

    /// Reads and authenticates a request. The credentials are those of HTTP Basic, the older form `applicationId` and
    /// `secret` in the content, the login of the dashboard, or a JSON Web Token with a role.
    ///
    /// - Throws: ``ApplicationFailure``.
    static func read(
        _ request: Request, _ context: WebRequestContext, by credentials: CredentialCheck, _ dashboard: DashboardAccess,
        _ authenticator: TokenAuthenticator
    ) async throws(ApplicationFailure) -> ApplicationRequest {
        if request.headers[.authorization] == nil, request.isOfDashboard {
            guard let login = dashboard.login(for: request, context) else { throw .loggedOut }
            return ApplicationRequest(
                login.application, login.role, .dashboard, subject: login.subject, request, context,
                body: try await body(of: request))
        }
        if let token = request.bearer {
            let (application, role, subject) = try await administrator(token, authenticator)
            return ApplicationRequest(
                application, role, .token, subject: subject, request, context, body: try await body(of: request))
        }
        let basic = request.headers[.authorization].map { Self.basic($0) }
        if let basic {
            guard let basic else { throw .unauthorized }
            try check(basic.id, basic.secret, credentials, context)
        }
        let body = try await body(of: request)
        let written = try? JSONDecoder().decode(Credentials.self, from: body)
        guard let id = basic??.id ?? written?.applicationId else { throw .unauthorized }
        if basic == nil { try check(id, written?.secret ?? "", credentials, context) }
        return ApplicationRequest(ApplicationID(id), .administer, .secret, request, context, body: body)
    }

    private static func administrator(
        _ token: String, _ authenticator: TokenAuthenticator
    ) async throws(ApplicationFailure) -> (ApplicationID, AdministrationRole, subject: String?) {
        do throws(APIError) {
            let administrator = try await authenticator.administrator(token)
            return (administrator.application, administrator.role, administrator.subject)
        } catch {
            throw .unauthorized
        }
    }

    /// Checks that the client has a role.
    ///
    /// - Throws: ``ApplicationFailure`` otherwise.
    func check(_ needed: AdministrationRole) throws(ApplicationFailure) {
        guard role < needed else { return }
        throw ApplicationFailure(
            .forbidden, "forbidden",
            "The role “\(role.rawValue)” does not permit this: use a token with the role “\(needed.rawValue)”.")
    }

    private static func check(
        _ id: String, _ secret: String, _ credentials: CredentialCheck, _ context: WebRequestContext
    ) throws(ApplicationFailure) {
        do throws(APIError) {
            try credentials.check(id, secret: secret, from: context.clientAddress)
        } catch {
            guard let wait = error.retryAfter else { throw .unauthorized }
            throw .tooManyFailures(retryAfter: wait)
        }
    }

    private init(
        _ application: ApplicationID, _ role: AdministrationRole, _ credentials: RequestAuthor.Credentials,
        subject: String? = nil, _ request: Request, _ context: WebRequestContext, body: Data
    ) {
        self.application = application
        self.role = role
        author = RequestAuthor(
            credentials, subject: subject, address: context.clientAddress.map { "\($0)" } ?? "unknown",
            method: request.method.rawValue,
            path: request.uri.path)
        query = Dictionary(
            request.uri.queryParameters.map { (String($0.key), String($0.value)) },
            uniquingKeysWith: { first, _ in first })
        host = request.head.authority
        lastEventID = HTTPField.Name("Last-Event-ID").flatMap { request.headers[$0] } ?? query["after"]
        parameters = context.parameters
        self.body = body
    }

    /// Parses the credentials of HTTP Basic; nil for another scheme or invalid text.
    static func basic(_ authorization: String) -> (id: String, secret: String)? {
        guard let decoded = authorization.credentials(of: "basic").flatMap({ Base64.decode($0) }) else { return nil }
        let text = String(decoding: decoded, as: UTF8.self)
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        return (String(text[..<colon]), String(text[text.utf8.index(after: colon)...]))
    }

    private static func body(of request: Request) async throws(ApplicationFailure) -> Data {
        var request = request
        do {
            let buffer = try await request.collectBody(upTo: bodyLimit)
            return Data(buffer.readableBytesView)
        } catch {
            throw error is NIOTooManyBytesError
                ? ApplicationFailure(.contentTooLarge, "bad-request", "The body is too large: send at most 64 KiB.")
                : .badRequest("The body is incomplete: send as many bytes as Content-Length states.")
        }
    }

    func decoded<Body: Decodable>(_ type: Body.Type) throws(ApplicationFailure) -> Body {
        do {
            return try JSONDecoder().decode(type, from: body)
        } catch {
            throw .badRequest("The body is invalid: see the schema in /pcast/openapi.json.")
        }
    }

    /// Returns whether the path has a component.
    func has(_ name: String) -> Bool { parameters.get(name) != nil }

    /// Returns a decoded component of the path.
    ///
    /// - Throws: ``ApplicationFailure`` if it is missing or invalid.
    func part(_ name: String) throws(ApplicationFailure) -> String {
        guard let text = parameters.get(name).flatMap({ PercentEncoding.decode($0) }), !text.isEmpty else {
            throw .notFound
        }
        return text
    }

    /// Checks that the application in the path is the authenticated one.
    ///
    /// - Throws: ``ApplicationFailure`` otherwise.
    func checkOwner() throws(ApplicationFailure) {
        // Another application's resources are reported as missing.
        guard try part("application") == application.description else { throw .notFound }
    }

    /// Returns a number of the query; the default if it is absent.
    ///
    /// - Throws: ``ApplicationFailure`` if it is outside the range.
    func number(_ name: String, _ range: ClosedRange<Int64>, default fallback: Int64) throws(ApplicationFailure)
        -> Int64
    {
        guard let text = query[name] else { return fallback }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(text), range.contains(number)
        else {
            throw .badRequest("“\(name)” is invalid: send a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// Returns an enumeration value of the query; nil if it is absent.
    ///
    /// - Throws: ``ApplicationFailure`` if it is unknown.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, _ type: Choice.Type
    ) throws(ApplicationFailure) -> Choice? where Choice.RawValue == String {
        guard let text = query[name] else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw .badRequest("“\(name)” is invalid: send one of \(words).")
        }
        return choice
    }
}

/// Percent-encoding of URIs (RFC 3986, section 2.1).
enum PercentEncoding {
    /// Decodes text; nil if the encoding is invalid or the result is not UTF-8.
    static func decode(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = Substring(text).utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
                let value = UInt8(Substring(digits), radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension WebRequestContext {
    /// The stream, channel or declared name in the path of a request; nil if there is none. Identifiers of channels contain
    /// “#”, which a URI contains percent-encoded only.
    var streamName: String? { parameters.get("stream").map { PercentEncoding.decode($0) ?? String($0) } }
}

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

    static func conflict(_ reason: String) -> ApplicationFailure { ApplicationFailure(.conflict, "conflict", reason) }

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

/// Functions that create the JSON responses of the management API.
enum ApplicationAnswer {
    private struct Done: Encodable { let status = "ok" }

    /// The response `{"status":"ok"}`.
    static var done: Response { json(Done()) }

    static func json(_ body: some Encodable, _ status: HTTPResponse.Status = .ok) -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(body) else {
            return Responses.json(.internalServerError, #"{"status":"failed"}"#)
        }
        var response = Responses.json(status, String(decoding: data, as: UTF8.self))
        response.headers[.cacheControl] = "no-store"
        return response
    }
}

/// The methods that a path may not support.
private let methods: [HTTPRequest.Method] = [
    .get, .head, .post, .put, .patch, .delete, .options, .trace, HTTPRequest.Method("QUERY") ?? .get,
]

extension RouterMethods where Context == WebRequestContext {
    /// Rejects the methods that a path does not support, with the `Allow` field (RFC 9110, section 15.5.6).
    func refuseOthers(_ path: RouterPath, than allowed: [HTTPRequest.Method]) {
        // GET includes HEAD.
        let allowed = allowed + (allowed.contains(.get) ? [.head] : [])
        let names = allowed.map(\.rawValue).sorted().joined(separator: ", ")
        for method in methods where !allowed.contains(method) {
            on(path, method: method) { _, _ in
                var response = ApplicationFailure(.methodNotAllowed, "bad-request", "Allowed here: \(names).").response
                response.headers[.allow] = names
                return response
            }
        }
    }
}
