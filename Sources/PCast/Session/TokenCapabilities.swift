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
        guard case .array(let capabilities)? = DigestTokens.unverifiedBody(of: token)?["capabilities"] else {
            names = []
            return
        }
        names = capabilities.compactMap { if case .string(let name) = $0 { name } else { nil } }
    }

    /// The number of layers that a publisher sends.
    var layers: Int { names.contains(Self.contribution) ? 3 : 1 }
}
