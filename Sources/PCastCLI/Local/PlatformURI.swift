import PCastCore
import PCastWeb

/// Functions for the URI of a platform.
enum PlatformURI {
    /// Returns whether a URI has a loopback host.
    ///
    /// - Throws: ``CommandFailure`` with the status `unusableArguments` if the URI is invalid.
    static func isOnThisComputer(_ uri: String) throws(CommandFailure) -> Bool {
        do {
            return ListenArgument(host: try WebAddress(uri).host, port: 0).isLoopback
        } catch {
            throw CommandFailure(.unusableArguments, describing: error)
        }
    }
}

/// The URI of a WHIP or WHEP endpoint of another server, in place of that of a platform.
enum EndpointURI {
    /// Whether a URI is one of a WHIP endpoint (`whip`, `whips`).
    static func isWHIP(_ uri: String?) -> Bool { hasScheme(uri, "whip") }

    /// Whether a URI is one of a WHEP endpoint (`whep`, `wheps`).
    static func isWHEP(_ uri: String?) -> Bool { hasScheme(uri, "whep") }

    private static func hasScheme(_ uri: String?, _ scheme: String) -> Bool {
        guard let uri = uri?.lowercased() else { return false }
        return uri.hasPrefix(scheme + "://") || uri.hasPrefix(scheme + "s://")
    }

    /// Returns the bearer token for an endpoint; nil if there is none.
    ///
    /// - Throws: ``CommandFailure`` if there are several.
    static func token(_ tokens: [String]) throws(CommandFailure) -> String? {
        guard tokens.count < 2 else {
            throw CommandFailure(.unusableArguments, "There are \(tokens.count) tokens: an endpoint needs at most one.")
        }
        return tokens.first
    }

    /// Returns a URI without user information and query, which may be secret.
    static func shown(_ uri: String) -> String { MediaURI(uri).map { "\($0)" } ?? "the endpoint" }
}

/// The link with which a browser views a stream.
enum WatchLink {
    /// Returns the link. `token` permits viewing the stream; nil if none is necessary. It is in the fragment of the
    /// URI, which browsers do not send, and the page removes it from the address bar.
    static func text(platform uri: String, stream: String, token: String?) -> String {
        let base = uri.hasSuffix("/") ? String(uri.dropLast()) : uri
        let fragment = token.map { "#token=\(percentEncoded($0))" } ?? ""
        return "\(base)/watch/\(percentEncoded(stream))\(fragment)"
    }

    /// Encodes all characters except the unreserved ones (RFC 3986, section 2.3).
    private static func percentEncoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                encoded += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }
}
