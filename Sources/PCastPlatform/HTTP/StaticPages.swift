import HTTPTypes
import Hummingbird
import NIOCore
import PCastWeb

/// The endpoints of the web pages and their files, which are compiled into the program.
struct StaticPages: Sendable {
    /// The origins that may embed the watch page (CSP `frame-ancestors`); empty for all.
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
        "pcast.svg": Asset(bytes: PackageResources.pcast_svg, type: "image/svg+xml"),
        "pcast.js": Asset(bytes: PackageResources.pcast_js, type: script),
        "login.js": Asset(bytes: PackageResources.login_js, type: script),
        "dashboard.js": Asset(bytes: PackageResources.dashboard_js, type: script),
        "dialogs.js": Asset(bytes: PackageResources.dialogs_js, type: script),
        "streams.js": Asset(bytes: PackageResources.streams_js, type: script),
        "plots.js": Asset(bytes: PackageResources.plots_js, type: script),
        "watch.js": Asset(bytes: PackageResources.watch_js, type: script),
        "publish.js": Asset(bytes: PackageResources.publish_js, type: script),
    ]

    func addRoutes(to router: Router<WebRequestContext>) {
        router.get("/publish") { _, _ in
            Self.page(PackageResources.publish_html, policy: Self.policy + Self.unframed, isFramed: false)
        }
        let framing = frameAncestors.isEmpty ? "" : "; frame-ancestors " + frameAncestors.joined(separator: " ")
        for path: RouterPath in ["/watch", "/watch/:stream"] {
            router.get(path) { _, _ in Self.page(PackageResources.watch_html, policy: Self.policy + framing) }
        }
        router.get("/assets/:name") { _, context in
            guard let asset = context.parameters.get("name").flatMap({ Self.assets[$0] }) else {
                return Responses.text(.notFound, "The file does not exist.")
            }
            return Self.response(asset.bytes, type: asset.type)
        }
    }

    /// The policy of pages that other sites must not embed, so that a user cannot be tricked into a click
    /// (clickjacking).
    static let unframed = "; frame-ancestors 'none'"

    /// The Content Security Policy of pages: no resources of other origins. Other sites may embed the watch page, as
    /// its snippet for embedding shows.
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        + "media-src 'self' blob: mediastream:; base-uri 'none'; form-action 'none'"

    /// Returns a page with a policy that sends no `Referer`, because the page's address may contain a token.
    static func page(_ bytes: [UInt8], policy: String, isFramed: Bool = true) -> Response {
        var response = response(bytes, type: html)
        // `X-Frame-Options` is for browsers that do not support `frame-ancestors`.
        if !isFramed { response.headers[.frameOptions] = "DENY" }
        response.headers[.contentSecurityPolicy] = policy
        response.headers[.referrerPolicy] = "no-referrer"
        return response
    }

    private static func response(_ bytes: [UInt8], type: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: type, .cacheControl: "no-cache", .xContentTypeOptions: "nosniff"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
