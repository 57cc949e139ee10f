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

    /// The address of the signaling WebSocket.
    var webSocket: String { uri + "/ws" }

    /// Whether the platform is on this machine.
    var isLoopback: Bool { host == "localhost" || IPAddress(host)?.isLoopback == true }

    /// Returns the field `uri` of an EdgeAuth token; nil if there is none. Only the platform can verify a token.
    private static func uri(in token: String) -> String? {
        guard case .string(let uri)? = DigestTokens.unverifiedBody(of: token)?["uri"] else { return nil }
        return uri
    }
}
