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

    static func refusal(_ refusal: APIError) -> Response {
        switch refusal.kind {
        case .badRequest: text(.badRequest, refusal.message)
        case .tooLarge: text(.contentTooLarge, refusal.message)
        case .unauthorized: text(.unauthorized, refusal.message, [.wwwAuthenticate: "Bearer"])
        case .noStreamPlaying: text(.notFound, refusal.message)
        case .gone: text(.notFound, refusal.message)
        case .unsupported: ProblemDetails(.unprocessableContent, refusal).response
        case .capacity: text(.serviceUnavailable, refusal.message, [.retryAfter: refusal.retryAfterText])
        case .playlistUnavailable: text(.notFound, refusal.message)
        case .notReady, .playlistNotReady: text(.serviceUnavailable, refusal.message, [.retryAfter: "1"])
        case .rateLimited: text(.tooManyRequests, refusal.message, [.retryAfter: refusal.retryAfterText])
        case .conflict: text(.conflict, refusal.message)
        case .failed: text(.internalServerError, refusal.message)
        }
    }

    static func methodNotAllowed(_ allowed: String) -> Response {
        text(.methodNotAllowed, "Allowed here: \(allowed).", [.allow: allowed])
    }
}

extension APIError {
    /// The value of `Retry-After` in whole seconds, at least 1 (RFC 9110, section 10.2.3).
    var retryAfterText: String { "\(Int(max((retryAfter ?? .seconds(5)).seconds.rounded(.up), 1)))" }
}

/// A problem report (RFC 9457), which RFC 9725, section 4.1 recommends for WHIP.
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
    /// The unacceptable media sections; nil if the error is not about sections.
    let sections: [Section]?

    init(_ status: HTTPResponse.Status, _ refusal: APIError) {
        title = status.reasonPhrase
        self.status = status.code
        detail = refusal.message
        let sections = refusal.sections.map { problem in
            Section(
                index: problem.index, mid: problem.mid, kind: problem.kind, reason: problem.reason.code,
                detail: problem.reason.sentence)
        }
        self.sections = sections.isEmpty ? nil : sections
    }

    var response: Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let body = try? encoder.encode(self) else {
            fatalError("a problem report may contain only text and numbers")
        }
        return Response(
            status: HTTPResponse.Status(code: status), headers: [.contentType: Self.mediaType],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}
