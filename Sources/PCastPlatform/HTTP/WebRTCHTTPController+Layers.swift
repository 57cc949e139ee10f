import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import PCastCore
import PCastSFU
import PCastWeb
import PCastWebRTC

/// The selection of layers for WHEP (`urn:ietf:params:whep:ext:core:layer`, in the form of draft-murillo-whep-01, section
/// 4.6.2, and of the newer extension document of draft-ietf-wish-whep) at the URI of the response's `Link` field.
///
/// GET returns the layers of a media section (by index), best first, with the sent one, the selected one, and the
/// reason why no better one is sent. POST with `{"mediaId":"0","rid":"h"}` selects a layer by its `rid` as the best one to
/// send; the former name `encodingId` is accepted, too. `maxWidth` and `maxHeight` select the best layer whose frames are
/// not larger at the time of the request. POST without these members and DELETE remove the selection. A layer that
/// exceeds the available bandwidth is never sent.
///
/// Each layer has one spatial layer with the number 0. Temporal layers cannot be selected.
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
            if let problem = choice.problem { throw problem }
            let viewed = choice.hasMaximumSize ? await directory.layers(viewedBy: resource.peerSession.peer) : nil
            layer = try choice.layer(in: viewed?.layers ?? [])
        }
        try await directory.pin(resource.peerSession.peer, layer: layer)
        return Response(status: .ok)
    }

    private func choice(_ request: Request) async throws(APIError) -> LayerChoice {
        var request = request
        do {
            let body = try await request.collectBody(upTo: Self.choiceLimit)
            return try JSONDecoder().decode(LayerChoice.self, from: Data(body.readableBytesView))
        } catch {
            throw APIError(
                .badRequest, "The body is invalid: send JSON such as {\"mediaId\":\"0\",\"rid\":\"h\"}.")
        }
    }
}

extension WebRTCResource {
    /// The index of the video's media section, which identifies it in this extension.
    var videoSection: String {
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
        case .codec: "codec"
        }
    }
}

/// The selection of a layer that a client requests.
struct LayerChoice: Decodable {
    var mediaId: String?
    var rid: String?
    var encodingId: String?
    var spatialLayerId: Int?
    var maxSpatialLayerId: Int?
    var temporalLayerId: Int?
    var maxTemporalLayerId: Int?
    var maxWidth: Int?
    var maxHeight: Int?

    var hasMaximumSize: Bool { maxWidth != nil || maxHeight != nil }

    /// The error if the selection is impossible for every stream; nil if it is not.
    var problem: APIError? {
        if let rid, let encodingId, rid != encodingId {
            return APIError(.badRequest, "“rid” and “encodingId” differ: send one of them.")
        }
        if spatialLayerId ?? 0 != 0 || maxSpatialLayerId ?? 0 < 0 {
            return APIError(.unsupported, "The only spatial layer is 0: send “rid” to select a layer.")
        }
        if temporalLayerId != nil || maxTemporalLayerId != nil {
            return APIError(.unsupported, "Temporal layers cannot be selected: omit their numbers.")
        }
        return nil
    }

    /// Returns the name of the selected layer; nil for none.
    ///
    /// - Throws: ``APIError`` with the kind `unsupported` if no layer is small enough.
    func layer(in layers: [ViewedLayers.Layer]) throws(APIError) -> String? {
        let rid = rid ?? encodingId
        guard hasMaximumSize else { return rid }
        // The publisher's layers are listed best first. The SFU reports an unknown `rid`.
        let named = layers.filter { rid == nil || $0.name == rid }
        if named.isEmpty { return rid }
        let fitting = named.first { layer in
            layer.dimensions.map { $0.width <= maxWidth ?? .max && $0.height <= maxHeight ?? .max } ?? false
        }
        guard let fitting else {
            throw APIError(.unsupported, "No layer is small enough: send a greater “maxWidth” or “maxHeight”.")
        }
        return fitting.name
    }
}
