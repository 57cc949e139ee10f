import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import PCastWebRTC

/// A problem report of RFC 9457, as RFC 9725, section 4.1 suggests it for WHIP.
struct ProblemDetails: Encodable {
    /// A media section of the request's description that cannot be accepted.
    struct Section: Encodable {
        let index: Int
        /// Absent where the description gives none.
        let mid: String?
        let kind: String
        /// A word for programs, see ``SectionProblem/Reason/code``.
        let reason: String
        let detail: String
    }

    static let mediaType = "application/problem+json"

    /// Says that the title is the status's own (RFC 9457, section 4.2.1).
    let type = "about:blank"
    let title: String
    let status: Int
    /// What is wrong and what to do, for people.
    let detail: String
    /// Absent where it is not about sections.
    let sections: [Section]?

    init(_ status: HTTPResponse.Status, _ refusal: Refusal) {
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
        guard let body = try? encoder.encode(self) else { fatalError("a problem report has text and numbers alone") }
        return Response(
            status: HTTPResponse.Status(code: status), headers: [.contentType: Self.mediaType],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}
