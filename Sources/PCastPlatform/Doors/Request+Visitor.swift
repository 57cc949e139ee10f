import HTTPTypes
import Hummingbird
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
        Visitor(address: context.clientAddress, host: head.authority, origin: headers[.origin])
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
