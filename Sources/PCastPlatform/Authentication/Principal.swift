import PCastCore
import PCastEdgeAuth

/// An authenticated client: the owner of an application's token, or any client of this host if the platform listens on
/// loopback only.
struct Principal: Sendable {
    let application: ApplicationID
    /// The token; nil for a client of this host without a token.
    let token: EdgeToken?
    /// The fingerprint of the encoded token.
    var fingerprint: String?
    /// The ingest or egress job of the platform to which the token belongs; nil for all other clients.
    var job: IngestJobRunner?

    var tags: [String] { token?.applyTags ?? [] }
    var capabilities: [String] { token?.capabilities ?? [] }

    /// The owner of a stream, who may resume it: all clients whose tokens apply the same tags, or, without tags, the
    /// clients with the same token. Nil for a job, because a new job publishes a new stream.
    var publisher: String? {
        guard job == nil else { return nil }
        guard token != nil else { return Self.localPublisher }
        return tags.isEmpty ? fingerprint : Self.tagsPrefix + tags.sorted().joined(separator: "\n")
    }

    static let localPublisher = "this machine"
    private static let tagsPrefix = "tags "

    /// Returns the tags of a publisher's token; nil if it applied none.
    static func appliedTags(of publisher: String) -> Set<String>? {
        guard publisher.utf8.starts(with: tagsPrefix.utf8) else { return nil }
        let tags = publisher.utf8.dropFirst(tagsPrefix.utf8.count).split(separator: UInt8(ascii: "\n"))
        return Set(tags.map { String(Substring($0)) })
    }
}
