/// Data of the author about the whole presentation (`EXT-X-SESSION-DATA`; RFC 8216, section 4.3.4.4).
package struct SessionData: Hashable, Sendable {
    /// The value, or a reference to it.
    package enum Content: Hashable, Sendable {
        /// A text (`VALUE`).
        case value(String)
        /// A resource (`URI`), which is JSON unless `isRaw`.
        case resource(uri: String, isRaw: Bool)
    }

    /// The name of the data, usually in reverse DNS form (`DATA-ID`).
    package var id: String
    /// The value, or a reference to it.
    package var content: Content
    /// The language tag (RFC 5646); nil if it is not specified.
    package var language: String?

    /// Creates session data.
    package init(id: String, _ content: Content, language: String? = nil) {
        self.id = id
        self.content = content
        self.language = language
    }

    /// Reads the tag.
    ///
    /// - Parameter list: The attributes of the tag.
    /// - Throws: ``PlaylistError`` if `DATA-ID` is missing, or both `VALUE` and `URI` are.
    init(_ list: AttributeList) throws(PlaylistError) {
        id = try list.required("DATA-ID")
        language = list.string("LANGUAGE")
        if let value = list.string("VALUE") {
            content = .value(value)
        } else {
            content = .resource(uri: try list.required("URI"), isRaw: list.string("FORMAT") == "RAW")
        }
    }

    /// The attributes of the tag.
    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.quoted("DATA-ID", id)
        switch content {
        case .value(let value): writer.quoted("VALUE", value)
        case .resource(let uri, let isRaw):
            writer.quoted("URI", uri)
            writer.unquoted("FORMAT", isRaw ? "RAW" : nil)
        }
        writer.quoted("LANGUAGE", language)
        return writer
    }
}
