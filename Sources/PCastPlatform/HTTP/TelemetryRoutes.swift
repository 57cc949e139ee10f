import HTTPTypes
import Hummingbird
import NIOCore
import PCastWeb

/// The endpoint to which Phenix's Web SDK sends its metrics and logs. The platform has its own measurements, so it
/// reads them within limits and discards them. Without a successful response the SDK would repeat them endlessly.
struct TelemetryRoutes: Sendable {
    static let path = "/telemetry"

    /// The most bytes of one request. The SDK sends at most 512 records, each some hundred bytes.
    private static let bodyLimit = 1024 * 1024
    private static let methods = "POST, OPTIONS"

    /// The encoding of both `telemetry.SubmitMetricRecordsResponse` and `telemetry.StoreLogRecordsResponse`: field 1,
    /// `status`, is "ok", and field 2, `storedRecords`, is 0. The SDK reads it, and only accepts the HTTP status 200.
    private static let response: [UInt8] = [0x0A, 0x02, 0x6F, 0x6B, 0x10, 0x00]

    func addRoutes(to router: Router<WebRequestContext>) {
        let group = router.group(RouterPath(Self.path))
        for path: RouterPath in ["metrics", "logs"] {
            group.on(path, method: .post) { request, _ in await Self.discard(request) }
            group.on(path, method: .options) { _, _ in
                CrossOriginMiddleware.preflight(allow: Self.methods, accept: nil)
            }
            for method: HTTPRequest.Method in [.get, .head, .put, .patch, .delete, .trace] {
                group.on(path, method: method) { _, _ in Responses.methodNotAllowed(Self.methods) }
            }
        }
    }

    private static func discard(_ request: Request) async -> Response {
        let tooLarge = APIError(.tooLarge, "The body is too large: send at most \(bodyLimit / 1024) KiB.")
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > bodyLimit {
            return Responses.refusal(tooLarge)
        }
        var count = 0
        do {
            for try await part in request.body {
                count += part.readableBytes
                guard count <= bodyLimit else { return Responses.refusal(tooLarge) }
            }
        } catch {
            return Responses.refusal(
                APIError(.badRequest, "The body is incomplete: send as many bytes as Content-Length states."))
        }
        return Response(
            status: .ok, headers: [.contentType: "application/protobuf", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: response)))
    }
}
