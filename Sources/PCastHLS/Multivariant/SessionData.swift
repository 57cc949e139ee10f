/// What the author says of the presentation (`EXT-X-SESSION-DATA`; RFC 8216, section 4.3.4.4).
public struct SessionData: Hashable, Sendable {
    public enum Content: Hashable, Sendable {
        case value(String)
        /// JSON at an address, or anything else where it is raw.
        case resource(uri: String, isRaw: Bool)
    }

    public var id: String
    public var content: Content
    public var language: String?

    public init(id: String, _ content: Content, language: String? = nil) {
        self.id = id
        self.content = content
        self.language = language
    }

    init(_ list: AttributeList) throws(PlaylistError) {
        id = try list.required("DATA-ID")
        language = list.string("LANGUAGE")
        if let value = list.string("VALUE") {
            content = .value(value)
        } else {
            content = .resource(uri: try list.required("URI"), isRaw: list.string("FORMAT") == "RAW")
        }
    }

    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.quoted("DATA-ID", id)
        switch content {
        case .value(let value): writer.quoted("VALUE", value)
        case .resource(let uri, let isRaw):
            writer.quoted("URI", uri)
            writer.bare("FORMAT", isRaw ? "RAW" : nil)
        }
        writer.quoted("LANGUAGE", language)
        return writer
    }
}
