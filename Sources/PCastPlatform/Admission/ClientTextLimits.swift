/// How long texts may be that clients write and others are sent, or find in logs and reports: the same at every endpoint.
enum ClientTextLimits {
    /// Characters (Unicode scalars) of the reason that a stream ends for.
    static let reason = 120
    /// Tags, and options, of one stream.
    static let count = 64
    /// Characters of each.
    static let text = 256

    /// Bytes of an address of media.
    static let uri = 4_096

    static func isReason(_ text: String) -> Bool { hasAtMost(reason, text) }

    /// - Throws: `Refusal` of kind `badRequest`.
    static func check(tags: [String]) throws(Refusal) {
        guard tags.count <= count, tags.allSatisfy({ !$0.isEmpty && hasAtMost(text, $0) }) else {
            throw Refusal(.badRequest, "A stream has at most \(count) tags, each of 1 to \(text) characters.")
        }
    }

    /// - Throws: as above.
    static func check(options: [String]) throws(Refusal) {
        guard options.count <= count, options.allSatisfy({ hasAtMost(text, $0) }) else {
            throw Refusal(.badRequest, "A stream has at most \(count) options, each of up to \(text) characters.")
        }
    }

    /// Looks at no more than is needed for the answer.
    private static func hasAtMost(_ count: Int, _ text: String) -> Bool {
        text.utf8.count <= 4 * count && text.unicodeScalars.count <= count
    }
}
