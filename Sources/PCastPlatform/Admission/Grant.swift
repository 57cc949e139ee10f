import PCastEdgeAuth
import PCastMedia
import PCastRTP

/// Who stands at a door, proven: an application's token, or, on a platform that listens on loopback, somebody on this
/// machine.
struct Grant: Sendable {
    let application: ApplicationID
    /// Nil for somebody on this machine without a token.
    let token: EdgeToken?
    /// What one of the platform's own workers does for whom the rest was given; nil for everybody else.
    var work: StreamWork?
    /// Of the token as it came.
    var fingerprint: String?

    var tags: [String] { token?.applyTags ?? [] }
    var capabilities: [String] { token?.capabilities ?? [] }

    /// Who publishes with this, so that who comes back is known: everybody whose tokens apply the same tags, where they
    /// apply any; else whoever has this token; nil for a worker, of whose streams its own makes another.
    var publisher: String? {
        guard work == nil else { return nil }
        guard token != nil else { return "this machine" }
        return tags.isEmpty ? fingerprint : "tags " + tags.sorted().joined(separator: "\n")
    }

    /// How long pictures wait at a viewer, by the capability `playout-buffer`, with `=PT0.3S` or half a second; nil where the
    /// token has it not, or it says nothing that can be understood.
    var playoutBuffer: TimeSpan? {
        let name = "playout-buffer"
        guard let capability = capabilities.first(where: { $0 == name || $0.hasPrefix(name + "=") }) else { return nil }
        let value = capability.dropFirst(name.count + 1)
        if value.isEmpty { return .milliseconds(500) }
        guard value.hasPrefix("PT"), value.hasSuffix("S"), let seconds = Double(value.dropFirst(2).dropLast()),
            (0...PlayoutDelay.longest.seconds).contains(seconds)
        else { return nil }
        return TimeSpan(seconds: seconds)
    }

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
