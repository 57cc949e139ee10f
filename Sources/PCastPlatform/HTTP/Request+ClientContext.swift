import HTTPTypes
import Hummingbird
import PCastWeb

extension Request {
    /// The token of the `Authorization` field, or of the query parameter `token`; nil if there is none.
    var token: String? {
        if headers[.authorization] != nil { return bearer }
        return uri.queryParameters["token"].map(String.init)
    }

    /// The bearer token of the `Authorization` field; nil if there is none.
    var bearer: String? {
        headers[.authorization].flatMap { $0.credentials(of: "bearer") }
    }

    func clientContext(_ context: WebRequestContext) -> ClientContext {
        ClientContext(
            RequestOrigin(address: context.clientAddress, isHidden: context.isHiddenByProxy), host: head.authority,
            origin: headers[.origin])
    }

    /// The condition of `If-Match`; nil if there is none. An invalid one matches nothing.
    var entityTagCondition: EntityTagCondition? {
        let fields = headers[values: .ifMatch]
        return fields.isEmpty ? nil : EntityTagCondition(fields) ?? .tags([])
    }

    /// Whether the client names problem reports (RFC 9457) in `Accept`. Wildcards do not count.
    var acceptsProblemReports: Bool {
        headers[values: .accept].joined(separator: ",").split(separator: ",").contains { element in
            String(element.prefix { $0 != ";" }).lowercased().trimmingSpaces == ProblemDetails.mediaType
        }
    }

    /// Returns whether the content has a media type. Parameters are ignored.
    func hasBody(ofType type: String) -> Bool {
        headers[.contentType].map { String($0.prefix { $0 != ";" }).lowercased().trimmingSpaces } == type
    }
}

extension String {
    /// The text without leading and trailing spaces and tabs.
    var trimmingSpaces: String {
        var text = Substring(self)
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        return String(text)
    }

    /// Returns the credentials in a value of `Authorization`; nil for another scheme, or if nothing follows the scheme.
    /// `scheme` must be in lower case.
    ///
    /// The scheme is case-insensitive and is followed by one or more spaces (RFC 9110, section 11.4).
    func credentials(of scheme: String) -> String? {
        let parts = trimmingSpaces.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == scheme else { return nil }
        return String(parts[1]).trimmingSpaces
    }
}
