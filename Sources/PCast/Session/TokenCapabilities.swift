import PCastCore
import PCastEdgeAuth
import PCastJSON

/// The capabilities in a stream's token that concern the client. Only the platform can verify a token.
struct TokenCapabilities: Hashable, Sendable {
    /// The capability with which the publisher sends several layers of video (Phenix: `multi-bitrate-contribution`).
    private static let contribution = "multi-bitrate-contribution"

    private let names: [String]

    /// Reads the capabilities of a token. There are none if the token is malformed.
    init(token: String) {
        let prefix = "DIGEST:"
        guard token.utf8.count <= DigestTokens.maximumEncodedSize, token.hasPrefix(prefix),
            let envelope = Base64.decode(String(token.dropFirst(prefix.count))),
            let object = JSONObject(text: String(decoding: envelope, as: UTF8.self)),
            case .string(let body)? = object["token"],
            case .array(let capabilities)? = JSONObject(text: body)?["capabilities"]
        else {
            names = []
            return
        }
        names = capabilities.compactMap { if case .string(let name) = $0 { name } else { nil } }
    }

    /// The number of layers that a publisher sends.
    var layers: Int { names.contains(Self.contribution) ? 3 : 1 }
}
