import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import PCastCore
import PCastWeb
import PCastWebRTC

extension HTTPField.Name {
    static let acceptPatch = Self("Accept-Patch")!
    static let acceptPost = Self("Accept-Post")!
    static let link = Self("Link")!
    static let streamID = Self("PCast-Stream-Id")!
    static let ignoredCapabilities = Self("PCast-Ignored-Capabilities")!
    static let referrerPolicy = Self("Referrer-Policy")!
    static let contentTypeOptions = Self("X-Content-Type-Options")!
    static let frameOptions = Self("X-Frame-Options")!
    static let crossOriginOpenerPolicy = Self("Cross-Origin-Opener-Policy")!
}

/// The media types of WHIP (RFC 9725) and WHEP.
enum MediaTypeName {
    static let description = "application/sdp"
    static let trickle = "application/trickle-ice-sdpfrag"
}

/// Functions that create the responses of endpoints.
enum Responses {
    static func text(_ status: HTTPResponse.Status, _ text: String, _ headers: HTTPFields = [:]) -> Response {
        var headers = headers
        headers[.contentType] = headers[.contentType] ?? "text/plain; charset=utf-8"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    static func json(_ status: HTTPResponse.Status, _ text: String) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json"],
            body: ResponseBody(inPieces: ByteBuffer(string: text)))
    }

    /// Returns the response for an error: its message as text, or a problem report if media sections are unsupported.
    static func refusal(_ refusal: APIError) -> Response {
        guard refusal.kind != .unsupported else { return problem(refusal) }
        return text(refusal.httpStatus, refusal.message, refusal.httpHeaders)
    }

    /// Returns the problem report (RFC 9457) for an error.
    static func problem(_ refusal: APIError) -> Response {
        ProblemDetails(refusal.httpStatus, refusal).response(refusal.httpHeaders)
    }

    /// Returns the problem report (RFC 9457) for a status of HTTP that has no status in the signaling protocol.
    static func problem(_ status: HTTPResponse.Status, _ detail: String, _ headers: HTTPFields = [:]) -> Response {
        ProblemDetails(status, detail).response(headers)
    }

    static func methodNotAllowed(_ allowed: String) -> Response {
        text(.methodNotAllowed, "Allowed here: \(allowed).", [.allow: allowed])
    }
}

extension APIError {
    var httpStatus: HTTPResponse.Status {
        switch kind {
        case .badRequest: .badRequest
        case .tooLarge: .contentTooLarge
        case .unauthorized: .unauthorized
        case .noStreamPlaying, .gone, .playlistUnavailable: .notFound
        case .unsupported: .unprocessableContent
        case .capacity, .notReady, .playlistNotReady: .serviceUnavailable
        case .rateLimited: .tooManyRequests
        case .conflict: .conflict
        case .failed: .internalServerError
        }
    }

    /// The header fields that belong to the status.
    var httpHeaders: HTTPFields {
        switch kind {
        case .unauthorized: [.wwwAuthenticate: "Bearer"]
        case .capacity, .rateLimited: [.retryAfter: retryAfterText]
        case .notReady, .playlistNotReady: [.retryAfter: "1"]
        default: [:]
        }
    }

    /// The value of `Retry-After` in whole seconds, at least 1 (RFC 9110, section 10.2.3).
    var retryAfterText: String { "\(Int(max((retryAfter ?? .seconds(5)).seconds.rounded(.up), 1)))" }
}

/// A problem report (RFC 9457), which RFC 9725, section 4.1 and draft-ietf-wish-whep, section 4.1 recommend.
struct ProblemDetails: Encodable {
    /// A media section of the request's session description that cannot be accepted.
    struct Section: Encodable {
        let index: Int
        /// Nil if the session description has none.
        let mid: String?
        let kind: String
        /// A machine-readable reason; see ``SectionProblem/Reason/code``.
        let reason: String
        let detail: String
    }

    static let mediaType = "application/problem+json"

    /// The value means that the title is that of the HTTP status (RFC 9457, section 4.2.1).
    let type = "about:blank"
    let title: String
    let status: Int
    /// The error and its remedy in English.
    let detail: String
    /// The status of the signaling protocol, which is more specific than that of HTTP; nil if there is none.
    let protocolStatus: String?
    /// The unacceptable media sections; nil if the error is not about sections.
    let sections: [Section]?

    init(_ status: HTTPResponse.Status, _ detail: String) {
        title = status.reasonPhrase
        self.status = status.code
        self.detail = detail
        (protocolStatus, sections) = (nil, nil)
    }

    init(_ status: HTTPResponse.Status, _ refusal: APIError) {
        title = status.reasonPhrase
        self.status = status.code
        detail = refusal.message
        protocolStatus = refusal.wire
        let sections = refusal.sections.map { problem in
            Section(
                index: problem.index, mid: problem.mid, kind: problem.kind, reason: problem.reason.code,
                detail: problem.reason.sentence)
        }
        self.sections = sections.isEmpty ? nil : sections
    }

    /// Returns the response with additional header fields.
    func response(_ headers: HTTPFields = [:]) -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let body = try? encoder.encode(self) else {
            fatalError("a problem report may contain only text and numbers")
        }
        return Response(
            status: HTTPResponse.Status(code: status), headers: headers + [.contentType: Self.mediaType],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}
