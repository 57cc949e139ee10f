import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import PCastCore
import PCastSFU
import PCastWeb
import PCastWebRTC

/// The selection of layers for WHEP (`urn:ietf:params:whep:ext:core:layer`; draft-murillo-whep-01, section 4.6.2) at
/// the URI of the response's `Link` field.
///
/// GET returns the layers of a media section (by index), best first, with the sent one, the selected one, and the
/// reason why no better one is sent. POST with `{"mediaId":"0","encodingId":"h"}` selects a layer by its `rid` as the
/// best one to send. POST without `encodingId` and DELETE remove the selection. A layer that exceeds the available
/// bandwidth is never sent.
extension WebRTCHTTPController {
    static let layerExtension = "urn:ietf:params:whep:ext:core:layer"
    private static let methods = "GET, POST, DELETE, OPTIONS"
    private static let choiceLimit = 4 * 1024

    /// Returns the value of the `Link` field for a resource.
    static func layerLink(_ name: String) -> String { "</whep/resource/\(name)/layer>; rel=\"\(layerExtension)\"" }

    func addLayerRoutes(to group: RouterGroup<WebRequestContext>) {
        let path: RouterPath = "resource/:name/layer"
        group.on(path, method: .get) { request, context in
            await respond { () throws(APIError) in try await layers(context) }
        }
        group.on(path, method: .post) { request, context in
            await respond { () throws(APIError) in try await choose(request, context) }
        }
        group.on(path, method: .delete) { request, context in
            await respond { () throws(APIError) in try await choose(nil, context) }
        }
        group.on(path, method: .options) { _, _ in
            CrossOriginMiddleware.preflight(allow: Self.methods, accept: "application/json")
        }
        for method: HTTPRequest.Method in [.put, .patch, .trace] {
            group.on(path, method: method) { _, _ in Responses.methodNotAllowed("GET, HEAD, POST, DELETE, OPTIONS") }
        }
    }

    // MARK: GET

    private struct Listing: Encodable {
        struct Layer: Encodable {
            let encodingId: String
            let bitrate: Int64?
            let width: Int?
            let height: Int?
            let active: Bool
        }

        let mediaId: String
        let layers: [Layer]
        /// The layer that is sent; nil if no video is sent.
        let current: String?
        /// The selected layer; nil if the platform selects.
        let selected: String?
        let video: String
        /// The reason why no better layer is sent.
        let reason: String
    }

    private func layers(_ context: WebRequestContext) async throws(APIError) -> Response {
        let (_, resource) = try await find(context)
        guard let viewed = await directory.layers(viewedBy: resource.peerSession.peer) else { throw .ended }
        let layers = viewed.layers.map { layer in
            Listing.Layer(
                encodingId: layer.name, bitrate: layer.bitrate?.bitsPerSecond, width: layer.dimensions?.width,
                height: layer.dimensions?.height, active: layer.isAvailable)
        }
        let listing = Listing(
            mediaId: resource.videoSection, layers: layers, current: viewed.current, selected: viewed.pinned,
            video: viewed.choice.word, reason: viewed.cause.word)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        guard let body = try? encoder.encode(listing) else {
            throw APIError(.failed, "The layers could not be encoded as JSON.")
        }
        var response = Responses.json(.ok, String(decoding: body, as: UTF8.self))
        response.headers[.cacheControl] = "no-store"
        return response
    }

    // MARK: POST and DELETE

    private struct Choice: Decodable {
        let mediaId: String?
        let encodingId: String?
    }

    /// Selects the layer that a request contains. A nil request removes the selection.
    ///
    /// - Throws: ``APIError``.
    private func choose(_ request: Request?, _ context: WebRequestContext) async throws(APIError) -> Response {
        let (_, resource) = try await find(context)
        var layer: String?
        if let request {
            let choice = try await choice(request)
            if let media = choice.mediaId, media != resource.videoSection {
                throw APIError(
                    .badRequest, "“mediaId” is invalid: send “\(resource.videoSection)”, which is that of the video.")
            }
            layer = choice.encodingId
        }
        try await directory.pin(resource.peerSession.peer, layer: layer)
        return Response(status: .ok)
    }

    private func choice(_ request: Request) async throws(APIError) -> Choice {
        var request = request
        do {
            let body = try await request.collectBody(upTo: Self.choiceLimit)
            return try JSONDecoder().decode(Choice.self, from: Data(body.readableBytesView))
        } catch {
            throw APIError(
                .badRequest, "The body is invalid: send JSON such as {\"mediaId\":\"0\",\"encodingId\":\"h\"}.")
        }
    }
}

extension WebRTCResource {
    /// The index of the video's media section, which identifies it in this extension.
    fileprivate var videoSection: String {
        String(peerSession.answer.media.firstIndex { $0.kind == .video && $0.direction.sends } ?? 0)
    }
}

extension LayerSelection.Choice {
    fileprivate var word: String {
        switch self {
        case .layer: "layer"
        case .audioOnly: "audio-only"
        case .nothing: "nothing"
        }
    }
}

extension LayerSelection.Cause {
    fileprivate var word: String {
        switch self {
        case .none: "none"
        case .link: "link"
        case .limit: "limit"
        case .pin: "selected"
        case .publisher: "publisher"
        }
    }
}
