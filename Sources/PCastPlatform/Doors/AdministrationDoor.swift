import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import PCastMedia
import PCastWeb

/// What an application's backend and an operator ask: health, figures, the streams, and to end one.
struct AdministrationDoor: Sendable {
    let gatekeeper: Gatekeeper
    let directory: StreamDirectory
    let router: MediaRouter

    private struct StreamSummary: Encodable {
        let streamId: String
        let tags: [String]
        /// UTC, milliseconds since the epoch.
        let startTime: Int64
        let viewers: Int
        let hasMedia: Bool
    }

    private struct StreamList: Encodable {
        let status = "ok"
        let streams: [StreamSummary]
    }

    private struct Termination: Decodable {
        let streamId: String
        let reason: String?
    }

    func addRoutes(to router: Router<WebRequestContext>) {
        router.get("/healthz") { _, _ in DoorResponse.json(.ok, #"{"status":"ok"}"#) }
        router.get("/metrics") { _, _ in await metrics() }
        router.get("/pcast/streams") { request, _ in await list(request) }
        router.on("/pcast/stream", method: .delete) { request, context in await terminate(request, context) }
    }

    /// The application that the request proves to be by HTTP Basic.
    private func application(_ request: Request) -> ApplicationID? {
        guard let authorization = request.headers[.authorization] else { return nil }
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic",
            let decoded = Base64.decode(String(parts[1]))
        else { return nil }
        let text = String(decoding: decoded, as: UTF8.self)
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let id = String(text[..<colon])
        guard gatekeeper.isApplication(id, secret: String(text[text.index(after: colon)...])) else { return nil }
        return ApplicationID(id)
    }

    private static let unauthorized = Response(
        status: .unauthorized, headers: [.wwwAuthenticate: "Basic realm=\"pcast\"", .contentType: "application/json"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: #"{"status":"unauthorized"}"#)))

    private func list(_ request: Request) async -> Response {
        guard let application = application(request) else { return Self.unauthorized }
        let streams = await directory.list(application).map { entry in
            StreamSummary(
                streamId: entry.stream.id.description, tags: entry.stream.tags,
                startTime: entry.stream.startTime.millisecondsSinceEpoch, viewers: entry.viewers,
                hasMedia: entry.stream.hasMedia)
        }
        guard let body = try? JSONEncoder().encode(StreamList(streams: streams)) else {
            return DoorResponse.json(.internalServerError, #"{"status":"failed"}"#)
        }
        return DoorResponse.json(.ok, String(decoding: body, as: UTF8.self))
    }

    private func terminate(_ request: Request, _ context: WebRequestContext) async -> Response {
        guard let application = application(request) else { return Self.unauthorized }
        var request = request
        guard let body = try? await request.collectBody(upTo: 16 * 1024),
            let termination = try? JSONDecoder().decode(Termination.self, from: Data(body.readableBytesView))
        else { return DoorResponse.json(.badRequest, #"{"status":"bad-request"}"#) }
        let text = termination.reason ?? ""
        let found = await directory.end(
            StreamID(termination.streamId), of: application, reason: StreamEndedReason(wire: text), description: text)
        return found
            ? DoorResponse.json(.ok, #"{"status":"ok"}"#) : DoorResponse.json(.notFound, #"{"status":"not-found"}"#)
    }

    /// In Prometheus' text format.
    private func metrics() async -> Response {
        let counts = await directory.counts
        let forwarded = await router.packetsForwarded()
        var metrics = MetricsText()
        metrics.add("pcast_streams", .gauge, "Streams being published.", counts.streams)
        metrics.add("pcast_viewers", .gauge, "Viewers of all streams.", counts.viewers)
        metrics.add("pcast_packets_forwarded_total", .counter, "Media packets sent to viewers.", forwarded)
        metrics.add(await router.figures())
        return DoorResponse.text(.ok, metrics.text, [.contentType: "text/plain; version=0.0.4"])
    }
}
