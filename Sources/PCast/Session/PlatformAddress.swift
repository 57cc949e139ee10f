import PCastCore
import PCastEdgeAuth
import PCastJSON
import PCastWeb

/// Where a platform is, and by which addresses of this machine it is reached.
struct PlatformAddress: Hashable, Sendable {
    /// Without a slash at its end.
    let uri: String
    let host: String

    /// - Throws: `badRequest` when neither names a platform, or what names it is no address.
    init(option: String?, token: String) throws(PCastError) {
        guard let text = option ?? Self.uri(in: token) else {
            throw PCastError(
                .badRequest, .usage, "no platform is named: set PCastOptions.uri, or a token with the field uri")
        }
        do {
            host = try WebAddress(text).host
        } catch {
            throw PCastError(.badRequest, .usage, "\(error)")
        }
        uri = text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    var webSocket: String { uri + "/ws" }

    /// The platform is on this machine.
    var isLoopback: Bool { host == "localhost" || IPAddress(host)?.isLoopback == true }

    /// Reads the field `uri` of an EdgeAuth token. The client cannot verify a token, which is the platform's to do.
    private static func uri(in token: String) -> String? {
        let prefix = "DIGEST:"
        guard token.utf8.count <= DigestTokens.maximumEncodedSize, token.hasPrefix(prefix),
            let envelope = Base64.decode(String(token.dropFirst(prefix.count))),
            let object = JSONObject(text: String(decoding: envelope, as: UTF8.self)),
            case .string(let body)? = object["token"],
            case .string(let uri)? = JSONObject(text: body)?["uri"]
        else { return nil }
        return uri
    }
}
