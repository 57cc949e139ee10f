import HTTPTypes
import Hummingbird
import NIOCore
import PCastMedia
import PCastWeb

extension Request {
    /// The token that came with the request: as bearer, or as `?token=`.
    var token: String? {
        if let authorization = headers[.authorization] {
            let parts = authorization.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
            return String(parts[1])
        }
        return uri.queryParameters["token"].map(String.init)
    }

    func visitor(_ context: WebRequestContext) -> Visitor {
        let address = context.remoteAddress?.ipAddress.flatMap { IPAddress($0) }
        return Visitor(
            address: address, sessionID: nil, isOnThisMachine: address?.isLoopback == true && isFromOurPages)
    }

    /// Made by no page at all, or by one of ours: a page of another site that happens to be open on this machine
    /// must not watch its camera, nor one that made its own name point here.
    private var isFromOurPages: Bool {
        guard let host = head.authority, let name = Self.hostName(host) else { return false }
        guard name == "localhost" || IPAddress(name)?.isLoopback == true else { return false }
        guard let origin = headers[.origin] else { return true }
        return origin == "http://\(host)" || origin == "https://\(host)"
    }

    private static func hostName(_ authority: String) -> String? {
        guard let address = try? WebAddress("http://\(authority)") else { return nil }
        return address.host
    }

    /// Whether the body is of this media type, parameters aside.
    func hasBody(ofType type: String) -> Bool {
        headers[.contentType]?.prefix { $0 != ";" }.lowercased().trimmingSpaces == type
    }
}

extension String {
    var trimmingSpaces: String {
        var text = Substring(self)
        while text.last == " " { text.removeLast() }
        while text.first == " " { text.removeFirst() }
        return String(text)
    }
}
