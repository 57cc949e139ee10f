import HTTPTypes
import Hummingbird
import NIOCore
import PCastWeb

/// The requests that need no authentication: the URIs of the platform and the OpenAPI description.
extension ManagementAPI {
    func addOpenRoutes(to group: RouterGroup<WebRequestContext>) {
        // A client measures the round-trip time to each of these URIs, and connects to the one that the nearest
        // returns.
        group.get("endPoints") { request, context in
            Self.text(address(request, context, "http", "/pcast/endPoint"))
        }
        group.get("endPoint") { request, context in Self.text(address(request, context, "ws", "/ws")) }
        group.get("openapi.json") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-cache"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: PackageResources.openapi_json)))
        }
        refuseOthers(group, "openapi.json", than: [.get])
        // Phenix's Web SDK of 2020 asks with a Content-Type, and pages of other sites therefore send a preflight.
        for path: RouterPath in ["endPoints", "endPoint"] {
            group.on(path, method: .options) { _, _ in
                CrossOriginMiddleware.preflight(allow: "GET, HEAD, OPTIONS", accept: nil)
            }
            refuseOthers(group, path, than: [.get, .options])
        }
    }

    private static func text(_ address: String?) -> Response {
        guard let address else {
            return ApplicationFailure.badRequest("The request has no valid Host header: add it.").response
        }
        return Responses.text(.ok, address, [.cacheControl: "no-store"])
    }

    /// Returns a URI with the host of the client's request; nil if the request has no `Host` field.
    private func address(
        _ request: Request, _ context: WebRequestContext, _ scheme: String, _ path: String
    ) -> String? {
        guard let host = request.head.authority, let read = try? WebAddress("http://\(host)") else { return nil }
        let name = read.host.contains(":") ? "[\(read.host)]" : read.host
        let isSecure = turnCredentials?.isSecure(port: context.localPort) ?? false
        let isWritten = host.hasSuffix(":\(read.port)")
        return "\(scheme)\(isSecure ? "s" : "")://\(name)\(isWritten ? ":\(read.port)" : "")\(path)"
    }
}
