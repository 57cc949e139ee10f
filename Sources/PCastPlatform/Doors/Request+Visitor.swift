import HTTPTypes
import Hummingbird
import PCastWeb

extension Request {
    /// The token that came with the request: as bearer, or as `?token=`.
    var token: String? {
        if headers[.authorization] != nil { return bearer }
        return uri.queryParameters["token"].map(String.init)
    }

    /// The token of the field `Authorization`.
    var bearer: String? {
        headers[.authorization].flatMap { $0.credentials(of: "bearer") }
    }

    func visitor(_ context: WebRequestContext) -> Visitor {
        Visitor(
            Caller(address: context.clientAddress, isHidden: context.isHiddenByProxy), host: head.authority,
            origin: headers[.origin])
    }

    /// Whether the body is of this media type, parameters aside.
    func hasBody(ofType type: String) -> Bool {
        headers[.contentType].map { String($0.prefix { $0 != ";" }).lowercased().trimmingSpaces } == type
    }
}

extension String {
    /// Without spaces and tabs around it.
    var trimmingSpaces: String {
        var text = Substring(self)
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        return String(text)
    }

    /// What follows the scheme in the value of `Authorization`: one or more spaces are between them, and the scheme's
    /// case does not matter (RFC 9110, section 11.4). Nil for another scheme, and where nothing follows.
    ///
    /// - Parameter scheme: in lower case.
    func credentials(of scheme: String) -> String? {
        let parts = trimmingSpaces.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == scheme else { return nil }
        return String(parts[1]).trimmingSpaces
    }
}
