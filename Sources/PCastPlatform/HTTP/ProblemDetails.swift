import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import PCastWebRTC

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
