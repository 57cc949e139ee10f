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
}
