/// The limits of text from clients that is sent to others or occurs in logs and reports. They are the same at each
/// endpoint.
enum ClientTextLimits {
    /// The maximum number of characters (Unicode scalars) of an end reason.
    static let reason = 120
    /// The maximum number of tags, and of options, of a stream.
    static let count = 64
    /// The maximum number of characters of a tag or option.
    static let text = 256

    /// The maximum size of a media URI in bytes.
    static let uri = 4_096

    static func isReason(_ text: String) -> Bool { hasAtMost(reason, text) }

    /// Checks the tags of a stream.
    ///
    /// - Throws: ``APIError`` with the kind `badRequest`.
    static func check(tags: [String]) throws(APIError) {
        guard tags.count <= count, tags.allSatisfy({ !$0.isEmpty && hasAtMost(text, $0) }) else {
            throw APIError(.badRequest, "The tags are invalid: send at most \(count), each of 1 to \(text) characters.")
        }
    }

    /// Checks the options of a stream.
    ///
    /// - Throws: ``APIError`` with the kind `badRequest`.
    static func check(options: [String]) throws(APIError) {
        guard options.count <= count, options.allSatisfy({ hasAtMost(text, $0) }) else {
            throw APIError(
                .badRequest, "The options are invalid: send at most \(count), each of at most \(text) characters.")
        }
    }

    /// Checks the length without counting more than necessary.
    private static func hasAtMost(_ count: Int, _ text: String) -> Bool {
        text.utf8.count <= 4 * count && text.unicodeScalars.count <= count
    }
}
