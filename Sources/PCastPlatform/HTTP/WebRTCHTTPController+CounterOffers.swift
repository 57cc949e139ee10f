import HTTPTypes
import Hummingbird
import PCastCore
import PCastIO
import PCastWeb
import PCastWebRTC

/// Counter-offers of WHEP (draft-ietf-wish-whep-04, section 4.3.2).
///
/// If the platform cannot accept a player's offer, it responds with 406 and an offer of the stream's tracks. The player
/// sends its answer by PATCH to the session. A player that names `application/problem+json` in `Accept` receives 422 with
/// a problem report instead, which names the sections of its offer that cannot be accepted.
extension WebRTCHTTPController {
    /// Returns the media type of a counter-offer, with the time until which it is valid. That time is rounded down to
    /// seconds, because an HTTP-date has no fractions (RFC 9110, section 5.6.7).
    static func counterOfferType(validFor validity: TimeSpan) -> String {
        let end = MonotonicClock.wallTime() + validity
        let date = HTTPDate.text(secondsSinceEpoch: Int(end.nanosecondsSinceEpoch / 1_000_000_000))
        return "\(MediaTypeName.description); valid-until=\"\(date)\""
    }

    /// Completes a session with the player's answer to the counter-offer. An invalid answer leaves the counter-offer
    /// valid.
    ///
    /// - Throws: ``APIError``, with the kind `conflict` if there is no counter-offer, or if it was answered.
    func accept(_ request: Request, _ name: String, _ resource: WebRTCResource) async throws(APIError) -> Response {
        let answer = try await description(request, "answer")
        guard request.entityTagCondition?.matches(resource.entityTag) ?? true else {
            return Responses.problem(.preconditionFailed, "The ETag is not that of this session: send the session's.")
        }
        _ = try await directory.accept(answer, of: resource.peerSession.streamID)
        await resources.answered(name, remoteUfrag: answer.firstUfrag)
        return Response(status: .noContent)
    }
}
