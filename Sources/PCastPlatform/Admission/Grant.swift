import PCastEdgeAuth
import PCastMedia

/// Who stands at a door, proven: an application's token, or, on a platform that listens on loopback, somebody on this
/// machine.
struct Grant: Sendable {
    let application: ApplicationID
    /// Nil for somebody on this machine without a token.
    let token: EdgeToken?
    /// What one of the platform's own workers does for whom the rest was given; nil for everybody else.
    var work: StreamWork?

    var tags: [String] { token?.applyTags ?? [] }
    var capabilities: [String] { token?.capabilities ?? [] }
}
