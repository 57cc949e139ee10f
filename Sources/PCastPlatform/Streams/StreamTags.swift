/// A stream's tags: those that describe it, and those of them that give viewers access.
///
/// A viewer's token may require a tag, so a tag that a client has chosen itself would give its stream to another channel's
/// viewers. What a token requires is looked for among the tags that the publisher's token applies, and nowhere else.
struct StreamTags: Sendable {
    /// All of them, as reports and notifications have them.
    let all: [String]
    /// Those that a viewer's token may require.
    let authorizing: [String]

    /// Tags of a client that begin so say whose channel or room a stream is of: they count from a token alone.
    private static let reserved = ["channelId:", "channelAlias:", "roomId:", "roomAlias:"]

    /// - Parameter own: as the client has written them.
    init(own: [String], _ grant: Grant) {
        // Somebody on this machine who needs no token may do all that a token could allow.
        guard grant.token != nil else {
            (all, authorizing) = (own + grant.tags, own + grant.tags)
            return
        }
        all = own.filter { tag in !Self.isReserved(tag) } + grant.tags
        authorizing = grant.tags
    }

    /// Of a stream that was recorded.
    ///
    /// - Parameter publisher: see `Grant.publisher`, which tells what its token applied.
    init(recorded tags: [String], publisher: String?) {
        all = tags
        if publisher == Grant.localPublisher {
            authorizing = tags
        } else {
            let applied = publisher.flatMap { Grant.appliedTags(of: $0) } ?? []
            authorizing = tags.filter { applied.contains($0) }
        }
    }

    /// By bytes: a combining character behind the colon makes another character of both.
    private static func isReserved(_ tag: String) -> Bool { reserved.contains { tag.utf8.starts(with: $0.utf8) } }
}
