import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import PCastCore
import PCastWeb
import PCastWebRTC

/// The capture time of the video for WHEP, at `/clock` below the resource. Browsers report the RTP timestamp of a
/// displayed frame, but not the sender reports that map it to a time.
///
/// GET returns an RTP timestamp of this session's video, its time of capture by the platform's clock in milliseconds
/// since 1970, and the number of ticks per second:
///
///     {"rtpTimestamp":3745216322,"time":1795649382489.2,"clockRate":90000}
///
/// The response is 204 before the first packet of the video.
extension WebRTCHTTPController {
    private static let clockMethods = "GET, HEAD, OPTIONS"

    func addClockRoutes(to group: RouterGroup<WebRequestContext>) {
        let path: RouterPath = "resource/:name/clock"
        group.on(path, method: .get) { _, context in
            await respond { () throws(APIError) in try await clock(context) }
        }
        group.on(path, method: .options) { _, _ in
            CrossOriginMiddleware.preflight(allow: Self.clockMethods, accept: nil)
        }
        for method: HTTPRequest.Method in [.put, .post, .patch, .delete, .trace] {
            group.on(path, method: method) { _, _ in Responses.methodNotAllowed(Self.clockMethods) }
        }
    }

    private struct Clock: Encodable {
        let rtpTimestamp: UInt32
        let time: Double
        let clockRate: Int64
    }

    private func clock(_ context: WebRequestContext) async throws(APIError) -> Response {
        let (_, resource) = try await find(context)
        guard let clock = await directory.videoClock(viewedBy: resource.participation.peer) else {
            return Response(status: .noContent, headers: [.cacheControl: "no-store"])
        }
        let body = Clock(
            rtpTimestamp: clock.timestamp, time: Double(clock.wallTime.nanosecondsSinceEpoch) / 1_000_000,
            clockRate: clock.rate.hertz)
        guard let data = try? JSONEncoder().encode(body) else {
            throw APIError(.failed, "The clock cannot be encoded.")
        }
        var response = Responses.json(.ok, String(decoding: data, as: UTF8.self))
        response.headers[.cacheControl] = "no-store"
        return response
    }
}
