import HTTPTypes
import Hummingbird
import NIOCore
import PCastWeb

/// What anybody may ask: where clients find the platform, and the description of this interface.
extension ApplicationDoor {
    func addOpenRoutes(to group: RouterGroup<WebRequestContext>) {
        // A client measures the way to each of these, and takes the answer of the nearest as the address to connect to.
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
            return ApplicationFailure.badRequest("The request names no host that it was sent to.").response
        }
        return DoorResponse.text(.ok, address, [.cacheControl: "no-store"])
    }

    /// By the host that the client has come by.
    private func address(
        _ request: Request, _ context: WebRequestContext, _ scheme: String, _ path: String
    ) -> String? {
        guard let host = request.head.authority, let read = try? WebAddress("http://\(host)") else { return nil }
        let name = read.host.contains(":") ? "[\(read.host)]" : read.host
        let isSecure = relay?.isSecure(port: context.localPort) ?? false
        let isWritten = host.hasSuffix(":\(read.port)")
        return "\(scheme)\(isSecure ? "s" : "")://\(name)\(isWritten ? ":\(read.port)" : "")\(path)"
    }
}
