import HTTPTypes
import Hummingbird
import NIOCore
import PCastWeb

/// The pages and what they are made of, compiled into the program.
struct PageDoor: Sendable {
    private struct Asset {
        let bytes: [UInt8]
        let type: String
    }

    private static let html = "text/html; charset=utf-8"
    private static let script = "text/javascript; charset=utf-8"

    private static let assets: [String: Asset] = [
        "pcast.css": Asset(bytes: PackageResources.pcast_css, type: "text/css; charset=utf-8"),
        "pcast.js": Asset(bytes: PackageResources.pcast_js, type: script),
        "watch.js": Asset(bytes: PackageResources.watch_js, type: script),
        "publish.js": Asset(bytes: PackageResources.publish_js, type: script),
    ]

    func addRoutes(to router: Router<WebRequestContext>) {
        router.get("/") { _, _ in Self.page(PackageResources.index_html) }
        router.get("/publish") { _, _ in Self.page(PackageResources.publish_html) }
        router.get("/watch") { _, _ in Self.page(PackageResources.watch_html) }
        router.get("/watch/:stream") { _, _ in Self.page(PackageResources.watch_html) }
        router.get("/assets/:name") { _, context in
            guard let asset = context.parameters.get("name").flatMap({ Self.assets[$0] }) else {
                return DoorResponse.text(.notFound, "There is no such file.")
            }
            return Self.response(asset.bytes, type: asset.type)
        }
    }

    /// A page may be framed (the watch page has an embed snippet), loads nothing from elsewhere, and tells nobody the
    /// address that it was opened by, which may hold a token (WH5).
    private static func page(_ bytes: [UInt8]) -> Response {
        var response = response(bytes, type: html)
        response.headers[.contentSecurityPolicy] =
            "default-src 'self'; img-src 'self' data:; media-src 'self' blob: mediastream:; base-uri 'none'; form-action 'none'"
        response.headers[.referrerPolicy] = "no-referrer"
        return response
    }

    private static func response(_ bytes: [UInt8], type: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: type, .cacheControl: "no-cache", .xContentTypeOptions: "nosniff"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
