import PCastEdgeAuth
import PCastMedia

/// Who stands at a door, proven: an application's token, or, on a platform that listens on loopback, somebody on this
/// machine.
struct Grant: Sendable {
    let application: ApplicationID
    /// Nil for somebody on this machine without a token.
    let token: EdgeToken?
    /// Of the token as it came.
    var fingerprint: String?
    /// What one of the platform's own workers does for whom the rest was given; nil for everybody else.
    var work: StreamWork?

    var tags: [String] { token?.applyTags ?? [] }
    var capabilities: [String] { token?.capabilities ?? [] }

    /// Who publishes with this, so that who comes back is known: everybody whose tokens apply the same tags, where they
    /// apply any; else whoever has this token; nil for a worker, of whose streams its own makes another.
    var publisher: String? {
        guard work == nil else { return nil }
        guard token != nil else { return Self.localPublisher }
        return tags.isEmpty ? fingerprint : Self.tagsPrefix + tags.sorted().joined(separator: "\n")
    }

    static let localPublisher = "this machine"
    private static let tagsPrefix = "tags "

    /// The tags that a publisher's token applied; nil where it applied none.
    static func appliedTags(of publisher: String) -> Set<String>? {
        guard publisher.utf8.starts(with: tagsPrefix.utf8) else { return nil }
        let tags = publisher.utf8.dropFirst(tagsPrefix.utf8.count).split(separator: UInt8(ascii: "\n"))
        return Set(tags.map { String(Substring($0)) })
    }
}
