import HTTPTypes
import Hummingbird
import NIOCore
import PCastOverlay
import PCastWeb

/// The endpoints of the web pages and their files, which are compiled into the program.
struct StaticPages: Sendable {
    /// The origins that may embed the watch page and the example overlay (CSP `frame-ancestors`); empty for all.
    let frameAncestors: [String]

    private static let html = "text/html; charset=utf-8"
    private static let script = "text/javascript; charset=utf-8"

    private static let style = "text/css; charset=utf-8"

    /// The scripts of the pages.
    private static let scripts: [String: [UInt8]] = [
        "administration.js": PackageResources.administration_js, "captions.js": PackageResources.captions_js,
        "channel.js": PackageResources.channel_js, "dashboard.js": PackageResources.dashboard_js,
        "dialogs.js": PackageResources.dialogs_js, "keys.js": PackageResources.keys_js,
        "login.js": PackageResources.login_js, "nodes.js": PackageResources.nodes_js,
        "pcast.js": PackageResources.pcast_js, "plots.js": PackageResources.plots_js,
        "publish.js": PackageResources.publish_js, "recordings.js": PackageResources.recordings_js,
        "requests.js": PackageResources.requests_js, "rooms.js": PackageResources.rooms_js,
        "seek.js": PackageResources.seek_js, "streams.js": PackageResources.streams_js,
        "watch-start.js": PackageResources.watch_start_js, "watch.js": PackageResources.watch_js,
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
        "viewer-session.mjs": PackageResources.viewer_session_mjs, "wire.mjs": PackageResources.wire_mjs,
    ]

    private static let styles: [String: [UInt8]] = [
        "channel.css": PackageResources.channel_css, "dashboard.css": PackageResources.dashboard_css,
        "pcast.css": PackageResources.pcast_css,
    ]

    /// The files of `/assets/`.
    private static let assets: [String: StaticFile] = {
        var files = scripts.merging(modules) { script, _ in script }.mapValues { StaticFile($0, type: script) }
        files.merge(styles.mapValues { StaticFile($0, type: style) }) { file, _ in file }
        files["pcast.svg"] = StaticFile(PackageResources.pcast_svg, type: "image/svg+xml")
        return files
    }()

    private static let moduleFile = StaticFile(PackageResources.pcast_mjs, type: script)
    private static let publishPage = StaticFile(PackageResources.publish_html, type: html)
    private static let channelPage = StaticFile(PackageResources.channel_html, type: html)

    /// The watch page with its scripts, and its policy.
    private static let watchPage: (file: StaticFile, policy: String) = {
        do {
            let page = try BundledPage(PackageResources.watch_html) { scripts[$0] ?? modules[$0] }
            return (StaticFile(Array(page.text.utf8), type: html), policy(page.scriptSources))
        } catch {
            // The files are parts of the program, and a test requests the page.
            preconditionFailure("the scripts of the watch page cannot be put into it: \(error)")
        }
    }()

    func addRoutes(to router: Router<WebRequestContext>) {
        router.get("/publish") { request, _ in
            Self.page(Self.publishPage, request, policy: Self.policy() + Self.unframed, isFramed: false)
        }
        let framing = frameAncestors.isEmpty ? "" : "; frame-ancestors " + frameAncestors.joined(separator: " ")
        let (watchPage, watchPolicy) = Self.watchPage
        for path: RouterPath in ["/watch", "/watch/:stream"] {
            router.get(path) { request, _ in Self.page(watchPage, request, policy: watchPolicy + framing) }
        }
        for path: RouterPath in ["/channel", "/channel/:alias"] {
            router.get(path) { request, _ in
                Self.page(Self.channelPage, request, policy: Self.policy() + Self.unframed, isFramed: false)
            }
        }
        router.get("/assets/:name") { request, context in
            guard let name = context.parameters.get("name"), let file = Self.assets[name] else { return Self.missing }
            let response = file.response(to: request)
            return Self.modules[name] == nil ? response : Self.sharing(response)
        }
        router.get("/pcast.mjs") { request, _ in Self.sharing(Self.moduleFile.response(to: request)) }
        addOverlayRoutes(to: router, framing: framing)
    }

    /// Adds the example overlay, which pages put over a viewer with `/pcast.mjs`.
    private func addOverlayRoutes(to router: Router<WebRequestContext>, framing: String) {
        router.get("/bridge.js") { _, _ in Self.sharing(Self.response(OverlayDocuments.bridge, type: Self.script)) }
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

    /// Returns the Content Security Policy of pages: no resources of other origins, and no scripts in the page except
    /// those of the given sources. Other sites may embed the watch page, as its snippet for embedding shows.
    private static func policy(_ scriptSources: [String] = []) -> String {
        "default-src 'none'; script-src \((["'self'"] + scriptSources).joined(separator: " ")); style-src 'self'; "
            + "img-src 'self' data:; connect-src 'self'; media-src 'self' blob: mediastream:; frame-src 'self'; "
            + "base-uri 'none'; form-action 'none'"
    }

    /// Returns a page with a policy that sends no `Referer`, because the page's address may contain a token.
    static func page(_ bytes: [UInt8], policy: String, isFramed: Bool = true) -> Response {
        page(response(bytes, type: html), policy: policy, isFramed: isFramed)
    }

    private static func page(
        _ file: StaticFile, _ request: Request, policy: String, isFramed: Bool = true
    ) -> Response {
        page(file.response(to: request), policy: policy, isFramed: isFramed)
    }

    private static func page(_ response: Response, policy: String, isFramed: Bool) -> Response {
        var response = response
        // `X-Frame-Options` is for browsers that do not support `frame-ancestors`.
        if !isFramed { response.headers[.frameOptions] = "DENY" }
        response.headers[.contentSecurityPolicy] = policy
        response.headers[.referrerPolicy] = "no-referrer"
        return response
    }

    /// Returns the response with a JavaScript module for pages of any origin (CORS). It contains nothing secret.
    private static func sharing(_ response: Response) -> Response {
        var response = response
        response.headers[.accessControlAllowOrigin] = "*"
        return response
    }

    private static func response(_ bytes: [UInt8], type: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: type, .cacheControl: "no-cache", .xContentTypeOptions: "nosniff"],
            body: ResponseBody(inPieces: ByteBuffer(bytes: bytes)))
    }
}
