import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PCastCore
import PCastIO
import PCastWeb

/// The endpoints at which other nodes pull streams. All messages are signed with the secret of the nodes.
struct NodeRoutes: Sendable {
    /// The path of requests for a stream.
    static let streams = "/pcast/node/streams"
    /// The path of answers to offers.
    static let links = "/pcast/node/links"
    /// The path of requests for the signed path of a stream's playlists.
    static let playlists = "/pcast/node/playlists"
    /// The path of requests for a still image of a stream.
    static let thumbnails = "/pcast/node/thumbnails"

    /// The path of requests for the reason why a stream has ended.
    static let ends = "/pcast/node/ends"

    let edges: EdgeService
    let directory: StreamDirectory
    let thumbnails: ThumbnailService
    let logger: Logger

    func addRoutes(to router: Router<WebRequestContext>) {
        router.on(RouterPath(Self.streams), method: .post) { request, context in
            await respond(request, context) { envelope, isOnThisMachine throws(APIError) in
                let message = try envelope.message(NodeRequest.self, .request, by: edges.signer)
                let offer = try await edges.offer(
                    message, nonce: envelope.nonce, isOnThisMachine: isOnThisMachine)
                return NodeEnvelope(offer, .offer, nonce: envelope.nonce, by: edges.signer)
            }
        }
        router.on(RouterPath(Self.links), method: .post) { request, context in
            await respond(request, context) { envelope, _ throws(APIError) in
                let message = try envelope.message(NodeAnswer.self, .answer, by: edges.signer)
                try await directory.acceptNode(message.answer, link: StreamID(envelope.nonce))
                return NodeEnvelope(["status": "ok"], .offer, nonce: envelope.nonce, by: edges.signer)
            }
        }
        router.on(RouterPath(Self.playlists), method: .post) { request, context in
            await respond(request, context) { envelope, _ throws(APIError) in
                let message = try envelope.message(NodePlaylistRequest.self, .playlist, by: edges.signer)
                let answer = try await edges.video.answer(message, nonce: envelope.nonce)
                return NodeEnvelope(answer, .path, nonce: envelope.nonce, by: edges.signer)
            }
        }
        router.on(RouterPath(Self.thumbnails), method: .post) { request, context in
            await respond(request, context) { envelope throws(APIError) in
                Response(
                    status: .ok, headers: [.contentType: "image/jpeg", .cacheControl: "no-store"],
                    body: ResponseBody(inPieces: try await image(envelope)))
            }
        }
        router.on(RouterPath(Self.ends), method: .post) { request, context in
            await respond(request, context) { envelope, _ throws(APIError) in
                let message = try envelope.message(NodeEndRequest.self, .end, by: edges.signer)
                let end = try await directory.endForNode(
                    StreamID(message.stream), of: ApplicationID(message.application))
                let answer = NodeStreamEnd(reason: end.reason.rawValue, description: end.description)
                return NodeEnvelope(answer, .ended, nonce: envelope.nonce, by: edges.signer)
            }
        }
        for path in [Self.streams, Self.links, Self.playlists, Self.thumbnails, Self.ends] {
            router.refuseOthers(RouterPath(path), than: [.post])
        }
    }

    private func image(_ envelope: NodeEnvelope) async throws(APIError) -> ByteBuffer {
        let message = try envelope.message(NodePlaylistRequest.self, .thumbnail, by: edges.signer)
        let (own, other) = try await edges.video.streamOfImage(message, nonce: envelope.nonce)
        if let own { return try await thumbnails.thumbnail(of: own, at: MonotonicClock.now()) }
        guard let other,
            case .bytes(let image) = try await edges.video.content(
                of: EdgeVideo.Resource(stream: other.id, kind: .thumbnail))
        else { throw .noStream }
        return image
    }

    private func respond(
        _ request: Request, _ context: WebRequestContext,
        _ body: (NodeEnvelope, Bool) async throws(APIError) -> NodeEnvelope
    ) async -> Response {
        let isOnThisMachine = request.clientContext(context).address?.isLoopback == true
        return await respond(request, context) { envelope throws(APIError) in
            let answer = try await body(envelope, isOnThisMachine)
            return Response(
                status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: answer.bytes)))
        }
    }

    private func respond(
        _ request: Request, _ context: WebRequestContext,
        _ body: (NodeEnvelope) async throws(APIError) -> Response
    ) async -> Response {
        let client = request.clientContext(context)
        do throws(APIError) {
            guard let envelope = await Self.envelope(of: request) else {
                throw APIError(.badRequest, "The message of the node is malformed or too large.")
            }
            return try await body(envelope)
        } catch {
            if error.kind == .unauthorized || error.kind == .conflict {
                let address = client.address.map { "\($0)" } ?? "unknown"
                logger.warning("node rejected", metadata: ["address": "\(address)", "error": "\(error.detail)"])
            }
            return Responses.problem(error)
        }
    }

    private static func envelope(of request: Request) async -> NodeEnvelope? {
        var request = request
        guard let body = try? await request.collectBody(upTo: NodeEnvelope.maximumSize) else { return nil }
        return NodeEnvelope(Array(body.readableBytesView))
    }
}
