import PCastCore
import PCastEdgeAuth
import PCastJSON
import PCastWeb

/// The address of a platform, and whether it is on loopback.
struct PlatformAddress: Hashable, Sendable {
    /// The address without a slash at its end.
    let uri: String
    let host: String

    /// Parses the address of the options, or that in the token. Throws `PCastError` with the status `badRequest` if
    /// there is none, or if it is malformed.
    init(option: String?, token: String) throws(PCastError) {
        guard let text = option ?? Self.uri(in: token) else {
            throw PCastError(
                .badRequest, .usage, "no platform is set: set PCastOptions.uri, or use a token with the field uri")
        }
        do {
            host = try WebAddress(text).host
        } catch {
            throw PCastError(.badRequest, .usage, "\(error)")
        }
        uri = text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// The longest address of a redirection, in bytes.
    private static let longestRedirection = 2_048

    /// Reads the address of the signaling WebSocket at another node, to which `platform` redirects a client. Returns nil for
    /// a malformed address, for one without TLS if the platform has TLS, and if only one of the two is on loopback.
    init?(redirection: String, from platform: PlatformAddress) {
        guard redirection.utf8.count <= Self.longestRedirection, redirection.hasSuffix(Self.webSocketPath),
            let address = try? WebAddress(redirection), let current = try? WebAddress(platform.uri),
            address.isSecure || !current.isSecure
        else { return nil }
        let authority = redirection.dropLast(Self.webSocketPath.utf8.count)
        guard let separator = authority.firstRange(of: "://"), !authority.contains("?"), !authority.contains("#") else {
            return nil
        }
        uri = (address.isSecure ? "https" : "http") + authority[separator.lowerBound...]
        host = address.host
        guard isLoopback == platform.isLoopback else { return nil }
    }

    private static let webSocketPath = "/ws"

    /// The address of the signaling WebSocket.
    var webSocket: String { uri + Self.webSocketPath }

    /// Whether the platform is on this machine.
    var isLoopback: Bool { host == "localhost" || IPAddress(host)?.isLoopback == true }

    /// Returns the field `uri` of an EdgeAuth token; nil if there is none. Only the platform can verify a token.
    private static func uri(in token: String) -> String? {
        guard case .string(let uri)? = DigestTokens.unverifiedBody(of: token)?["uri"] else { return nil }
        return uri
    }
}
