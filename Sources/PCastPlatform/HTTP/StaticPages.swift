import HTTPTypes
import Hummingbird
import NIOCore
import PCastOverlay
import PCastWeb

/// The endpoints of the web pages and their files, which are compiled into the program.
struct StaticPages: Sendable {
    /// The origins that may embed the watch page and the example overlay (CSP `frame-ancestors`); empty for all.
    let frameAncestors: [String]

    private struct Asset {
        let bytes: [UInt8]
        let type: String
    }

    private static let html = "text/html; charset=utf-8"
    private static let script = "text/javascript; charset=utf-8"

    private static let style = "text/css; charset=utf-8"

    private static let assets: [String: Asset] = [
        "pcast.css": Asset(bytes: PackageResources.pcast_css, type: style),
        "dashboard.css": Asset(bytes: PackageResources.dashboard_css, type: style),
        "channel.css": Asset(bytes: PackageResources.channel_css, type: style),
        "pcast.svg": Asset(bytes: PackageResources.pcast_svg, type: "image/svg+xml"),
        "pcast.js": Asset(bytes: PackageResources.pcast_js, type: script),
        "login.js": Asset(bytes: PackageResources.login_js, type: script),
        "dashboard.js": Asset(bytes: PackageResources.dashboard_js, type: script),
        "administration.js": Asset(bytes: PackageResources.administration_js, type: script),
        "requests.js": Asset(bytes: PackageResources.requests_js, type: script),
        "dialogs.js": Asset(bytes: PackageResources.dialogs_js, type: script),
        "keys.js": Asset(bytes: PackageResources.keys_js, type: script),
        "nodes.js": Asset(bytes: PackageResources.nodes_js, type: script),
        "recordings.js": Asset(bytes: PackageResources.recordings_js, type: script),
        "streams.js": Asset(bytes: PackageResources.streams_js, type: script),
        "plots.js": Asset(bytes: PackageResources.plots_js, type: script),
        "captions.js": Asset(bytes: PackageResources.captions_js, type: script),
        "seek.js": Asset(bytes: PackageResources.seek_js, type: script),
        "channel.js": Asset(bytes: PackageResources.channel_js, type: script),
        "rooms.js": Asset(bytes: PackageResources.rooms_js, type: script),
        "watch.js": Asset(bytes: PackageResources.watch_js, type: script),
        "publish.js": Asset(bytes: PackageResources.publish_js, type: script),
    ]

    /// The parts of the module `/pcast.mjs`.
    private static let modules: [String: [UInt8]] = [
        "channels.mjs": PackageResources.channels_mjs, "client.mjs": PackageResources.client_mjs,
        "hls.mjs": PackageResources.hls_mjs, "hls-track.mjs": PackageResources.hls_track_mjs,
        "named-streams.mjs": PackageResources.named_streams_mjs,
        "overlay.mjs": PackageResources.overlay_mjs, "playhead.mjs": PackageResources.playhead_mjs,
        "publisher.mjs": PackageResources.publisher_mjs, "rectangle.mjs": PackageResources.rectangle_mjs,
        "room-stream.mjs": PackageResources.room_stream_mjs, "rooms.mjs": PackageResources.rooms_mjs,
        "session.mjs": PackageResources.session_mjs, "statistics.mjs": PackageResources.statistics_mjs,
        "time-shift.mjs": PackageResources.time_shift_mjs,
        "timeline.mjs": PackageResources.timeline_mjs, "timeline-log.mjs": PackageResources.timeline_log_mjs,
        "timeline-page.mjs": PackageResources.timeline_page_mjs, "viewer.mjs": PackageResources.viewer_mjs,
        "wire.mjs": PackageResources.wire_mjs,
    ]

    func addRoutes(to router: Router<WebRequestContext>) {
        router.get("/publish") { _, _ in
            Self.page(PackageResources.publish_html, policy: Self.policy + Self.unframed, isFramed: false)
        }
        let framing = frameAncestors.isEmpty ? "" : "; frame-ancestors " + frameAncestors.joined(separator: " ")
        for path: RouterPath in ["/watch", "/watch/:stream"] {
            router.get(path) { _, _ in Self.page(PackageResources.watch_html, policy: Self.policy + framing) }
        }
        for path: RouterPath in ["/channel", "/channel/:alias"] {
            router.get(path) { _, _ in
                Self.page(PackageResources.channel_html, policy: Self.policy + Self.unframed, isFramed: false)
            }
        }
        router.get("/assets/:name") { _, context in
            guard let name = context.parameters.get("name") else { return Self.missing }
            if let bytes = Self.modules[name] { return Self.module(bytes) }
            guard let asset = Self.assets[name] else { return Self.missing }
            return Self.response(asset.bytes, type: asset.type)
        }
        router.get("/pcast.mjs") { _, _ in Self.module(PackageResources.pcast_mjs) }
        addOverlayRoutes(to: router, framing: framing)
    }

    /// Adds the example overlay, which pages put over a viewer with `/pcast.mjs`.
    private func addOverlayRoutes(to router: Router<WebRequestContext>, framing: String) {
        router.get("/bridge.js") { _, _ in Self.module(OverlayDocuments.bridge) }
        router.get("/overlay") { request, _ in
            // The addresses in the page are relative to the folder.
            guard request.uri.path.hasSuffix("/") else {
                return Response(status: .permanentRedirect, headers: [.location: "/overlay/"])
            }
            return Self.page(OverlayDocuments.example("index.html") ?? [], policy: OverlayDocuments.policy + framing)
        }
        router.get("/overlay/:name") { _, context in
            guard let name = context.parameters.get("name"), let bytes = OverlayDocuments.example(name) else {
                return Self.missing
            }
            return Self.response(bytes, type: name.hasSuffix(".css") ? Self.style : Self.script)
        }
    }

    private static var missing: Response { Responses.text(.notFound, "The file does not exist.") }

    /// The policy of pages that other sites must not embed, so that a user cannot be tricked into a click
    /// (clickjacking).
    static let unframed = "; frame-ancestors 'none'"

    /// The Content Security Policy of pages: no resources of other origins. Other sites may embed the watch page, as
    /// its snippet for embedding shows.
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        + "media-src 'self' blob: mediastream:; frame-src 'self'; base-uri 'none'; form-action 'none'"

    /// Returns a page with a policy that sends no `Referer`, because the page's address may contain a token.
    static func page(_ bytes: [UInt8], policy: String, isFramed: Bool = true) -> Response {
        var response = response(bytes, type: html)
        // `X-Frame-Options` is for browsers that do not support `frame-ancestors`.
        if !isFramed { response.headers[.frameOptions] = "DENY" }
        response.headers[.contentSecurityPolicy] = policy
        response.headers[.referrerPolicy] = "no-referrer"
        return response
    }

    /// Returns a JavaScript module that pages of other origins may load (CORS). It contains nothing secret.
    private static func module(_ bytes: [UInt8]) -> Response {
        var response = response(bytes, type: script)
        response.headers[.accessControlAllowOrigin] = "*"
        return response
    }

    private static func response(_ bytes: [UInt8], type: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: type, .cacheControl: "no-cache", .xContentTypeOptions: "nosniff"],
            body: ResponseBody(inPieces: ByteBuffer(bytes: bytes)))
    }
}
