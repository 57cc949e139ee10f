/// The tags of a stream: all tags, and those that give subscribers access.
///
/// A subscriber's token may require a tag. If clients could choose such a tag themselves, their stream could appear in
/// another channel. Therefore only tags that the publisher's token applies give access.
struct StreamTags: Sendable {
    /// All tags, as in reports and notifications.
    let all: [String]
    /// The tags that a subscriber's token may require.
    let authorizing: [String]

    /// The prefixes of tags that assign a stream to a channel or room. They are valid only in tokens.
    private static let reserved = ["channelId:", "channelAlias:", "roomId:", "roomAlias:"]

    /// Creates the tags of a new stream from those that the client requests and those of its token.
    init(own: [String], _ principal: Principal) {
        // A client of this host that needs no token has all permissions.
        guard principal.token != nil else {
            (all, authorizing) = (own + principal.tags, own + principal.tags)
            return
        }
        all = own.filter { tag in !Self.isReserved(tag) } + principal.tags
        authorizing = principal.tags
    }

    /// Creates the tags of a stream in the database. `publisher`, see `Principal.publisher`, contains the tags of its
    /// token.
    init(recorded tags: [String], publisher: String?) {
        all = tags
        if publisher == Principal.localPublisher {
            authorizing = tags
        } else {
            let applied = publisher.flatMap { Principal.appliedTags(of: $0) } ?? []
            authorizing = tags.filter { applied.contains($0) }
        }
    }

    /// By bytes: a combining character behind the colon makes another character of both.
    private static func isReserved(_ tag: String) -> Bool { reserved.contains { tag.utf8.starts(with: $0.utf8) } }
}
