/// A pathway that the steering server derives from another one (`PATHWAY-CLONES`; RFC 8216bis, section 7.3). Its variants
/// and renditions are those of the other pathway at other URIs.
package struct PathwayClone: Hashable, Sendable {
    /// The maximum number of clones in a manifest, and of the entries of each object in a clone.
    package static let limit = 64

    /// The ID of the pathway that is cloned (`BASE-ID`).
    package var base: String
    /// The ID of the new pathway (`ID`).
    package var id: String
    /// The host of the new URIs (`HOST`); nil for that of the cloned one.
    package var host: String?
    /// The query parameters that are set in the new URIs (`PARAMS`).
    package var parameters: [String: String]
    /// The complete URIs of variants, by their stable IDs (`PER-VARIANT-URIS`).
    package var variantURIs: [String: String]
    /// The complete URIs of renditions, by their stable IDs (`PER-RENDITION-URIS`).
    package var renditionURIs: [String: String]

    /// Creates a clone.
    package init(
        base: String, id: String, host: String? = nil, parameters: [String: String] = [:],
        variantURIs: [String: String] = [:], renditionURIs: [String: String] = [:]
    ) {
        (self.base, self.id, self.host, self.parameters) = (base, id, host, parameters)
        (self.variantURIs, self.renditionURIs) = (variantURIs, renditionURIs)
    }

    /// The kind of playlist at a URI.
    package enum Kind: Hashable, Sendable {
        case variant
        case rendition
    }

    /// Returns the URI of the clone for one of the cloned pathway. `stableID` is that of the variant or rendition.
    package func uri(for uri: String, _ kind: Kind, stableID: String?) -> String {
        let complete = kind == .variant ? variantURIs : renditionURIs
        if let stableID, let own = complete[stableID] { return own }
        var reference = URIReference(uri)
        if let host, let authority = reference.authority {
            reference.authority = Self.authority(host, like: authority)
        }
        if !parameters.isEmpty {
            var pairs = (reference.query ?? "").split(separator: "&").map { String($0) }
            // Parameters that exist are replaced at their places, and others follow in the order of their names.
            for (name, value) in parameters.sorted(by: { $0.key < $1.key }) {
                let place = pairs.firstIndex { $0.prefix { $0 != "=" } == name }
                pairs.removeAll { $0.prefix { $0 != "=" } == name }
                pairs.insert("\(name)=\(value)", at: place ?? pairs.count)
            }
            reference.query = pairs.joined(separator: "&")
        }
        return reference.text
    }

    /// Returns an authority with another host. The port remains, unless the host has its own.
    private static func authority(_ host: String, like other: String) -> String {
        let afterUser = other.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        let port = afterUser.last == "]" ? nil : afterUser.lastIndex(of: ":").map { afterUser[$0...] }
        let hasPort = host.last != "]" && host.contains(":") && (!host.hasPrefix("[") || host.contains("]:"))
        return hasPort ? host : host + (port ?? "")
    }

    /// Whether the texts can be parts of a URI: no delimiters in the host and in the parameters.
    package var isValid: Bool {
        func isPlain(_ text: String, without delimiters: String) -> Bool {
            text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !delimiters.utf8.contains($0) }
        }
        return !id.isEmpty && id != base
            && host.map { !$0.isEmpty && isPlain($0, without: "/?#@\\\"<>") } ?? true
            && parameters.allSatisfy { name, value in
                !name.isEmpty && isPlain(name, without: "&#=\"<>") && isPlain(value, without: "&#\"<>")
            }
    }
}
