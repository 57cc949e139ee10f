import PCastCore
import PCastEdgeAuth
import PCastJSON

/// What a stream's token says that the stream may do, as far as the client has a part in it. The client cannot verify a
/// token, which is the platform's to do.
struct StreamCapabilities: Hashable, Sendable {
    /// The publisher supplies the layers of the picture (Phenix's knowledge base, capabilities).
    private static let contribution = "multi-bitrate-contribution"

    private let names: [String]

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

    /// How many layers a publisher sends.
    var layers: Int { names.contains(Self.contribution) ? 3 : 1 }
}
