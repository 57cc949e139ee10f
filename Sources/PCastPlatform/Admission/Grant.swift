import PCastEdgeAuth
import PCastMedia

/// Who stands at a door, proven: an application's token, or, on a platform that listens on loopback, somebody on this
/// machine.
struct Grant: Sendable {
    let application: ApplicationID
    /// Nil for somebody on this machine without a token.
    let token: EdgeToken?

    var tags: [String] { token?.applyTags ?? [] }
    var capabilities: [String] { token?.capabilities ?? [] }

    /// Codecs that the token asks the answer to prefer.
    var preferredCodecs: [Codec] {
        capabilities.compactMap { capability in
            switch capability.split(separator: "=").first.map(String.init) {
            case "prefer-h264": .h264
            case "prefer-vp8": .vp8
            default: nil
            }
        }
    }
}
