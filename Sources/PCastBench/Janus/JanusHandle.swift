import Foundation
import PCastCore
import PCastWebRTC

/// One viewer's signaling with Janus over its HTTP interface: a session, a handle of the streaming plugin, and the
/// offer of the mountpoint.
struct JanusHandle: Sendable {
    private let server: TransportAddress
    private let path: String
    private let session: String

    private struct Request: Encodable {
        struct Body: Encodable {
            var request: String
            var id: Int?
        }

        struct Description: Codable {
            var type: String
            var sdp: String
        }

        var janus: String
        var transaction = "t"
        var plugin: String?
        var body: Body?
        var jsep: Description?
    }

    private struct Reply: Decodable {
        struct Identity: Decodable { var id: UInt64 }
        struct Failure: Decodable { var reason: String }

        var janus: String
        var data: Identity?
        var jsep: Request.Description?
        var error: Failure?
    }

    /// Creates a session and attaches it to the streaming plugin. Throws `BenchFailure` if Janus refuses.
    init(at server: TransportAddress) async throws {
        self.server = server
        session = try await "/janus/\(Self.made(Self.post(Request(janus: "create"), to: "/janus", at: server)))"
        let attach = Request(janus: "attach", plugin: "janus.plugin.streaming")
        path = try await "\(session)/\(Self.made(Self.post(attach, to: session, at: server)))"
    }

    /// Requests the mountpoint and returns Janus' offer. Throws `BenchFailure` if Janus sends none.
    func watch() async throws -> SessionDescription {
        _ = try await Self.post(
            Request(janus: "message", body: Request.Body(request: "watch", id: 1)), to: path, at: server)
        // The long poll returns the events of the session one at a time.
        for _ in 0..<10 {
            let event = try await Self.exchange("GET \(session)?maxev=1", nil, at: server)
            if let offer = event.jsep { return try SessionDescription(parsing: offer.sdp) }
        }
        throw BenchFailure("Janus sent no offer")
    }

    func start(_ answer: SessionDescription) async throws {
        let request = Request(
            janus: "message", body: Request.Body(request: "start"),
            jsep: Request.Description(type: "answer", sdp: answer.text))
        _ = try await Self.post(request, to: path, at: server)
    }

    private static func made(_ answer: Reply) throws -> UInt64 {
        guard let id = answer.data?.id else { throw BenchFailure("Janus answered “\(answer.janus)”") }
        return id
    }

    private static func post(_ request: Request, to path: String, at server: TransportAddress) async throws -> Reply {
        try await exchange("POST \(path)", String(decoding: JSONEncoder().encode(request), as: UTF8.self), at: server)
    }

    private static func exchange(_ line: String, _ body: String?, at server: TransportAddress) async throws -> Reply {
        // HTTP/1.0, so that the response is not chunked.
        var head = ["\(line) HTTP/1.0", "Host: \(server)", "Connection: close"]
        if let body { head += ["Content-Type: application/json", "Content-Length: \(body.utf8.count)"] }
        let text = (head + ["", ""]).joined(separator: "\r\n") + (body ?? "")
        let answer = try await WebRTCHTTPRequest.ask(text, of: server)
        let decoded = try? JSONDecoder().decode(Reply.self, from: Data(answer.body.utf8))
        guard let decoded, decoded.error == nil else {
            throw BenchFailure("Janus responded “\(decoded?.error?.reason ?? answer.head[0])” to \(line)")
        }
        return decoded
    }
}
