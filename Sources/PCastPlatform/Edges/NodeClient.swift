import Logging
import PCastEdgeAuth
import PCastIO
import PCastWeb

/// Sends signed messages to other nodes.
struct NodeClient: Sendable {
    let signer: NodeSignature
    let limits: EdgeConfiguration.TimeLimits
    let logger: Logger

    /// Sends a message to another node, and returns its response.
    ///
    /// - Throws: ``APIError``.
    func send(
        _ envelope: NodeEnvelope, to uri: String, within limit: Duration? = nil
    ) async throws(APIError) -> NodeEnvelope {
        let body = try await content(of: envelope, to: uri, within: limit)
        guard let envelope = NodeEnvelope(body) else { throw Self.unusableAnswer }
        return envelope
    }

    /// Sends a message to another node, and returns the content of its response, which is not signed.
    ///
    /// - Throws: ``APIError``.
    func content(
        of envelope: NodeEnvelope, to uri: String, within limit: Duration? = nil
    ) async throws(APIError) -> [UInt8] {
        let response: HTTPResult
        do {
            response = try await HTTPRequests.send(
                "POST", uri, headers: [("Content-Type", "application/json")], body: envelope.bytes,
                within: limit ?? limits.response, followsRedirections: false)
        } catch {
            throw APIError(
                .notReady, "The stream's origin does not respond: retry in a moment.",
                detail: "the origin does not respond: \(error)")
        }
        switch response.status {
        case 200: return response.body
        case 401:
            logger.error("the origin rejected this node: give all nodes the same --cluster-secret")
            throw Self.unusableAnswer
        case 404: throw .noStream
        case 409: throw EdgeService.loop
        case 503:
            throw APIError(
                .notReady, "The stream's origin is not ready: retry in a moment.", detail: "the origin is not ready",
                retryAfter: .milliseconds(100))
        default:
            throw APIError(
                .notReady, "The stream's origin is not ready: retry in a moment.",
                detail: "the origin answered with the status \(response.status)")
        }
    }

    static let unusableAnswer = APIError(
        .notReady, "The stream's origin cannot be used: ask its operator.",
        detail: "the answer of the origin cannot be used")
}
