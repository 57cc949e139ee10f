/// Another version of one medium: a language, a camera, subtitles (`EXT-X-MEDIA`; RFC 8216, section 4.3.4.1).
public struct Rendition: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable {
        case audio = "AUDIO"
        case video = "VIDEO"
        case subtitles = "SUBTITLES"
        case closedCaptions = "CLOSED-CAPTIONS"
    }

    public var kind: Kind
    /// nil where the variants' own segments hold it.
    public var uri: String?
    public var group: String
    public var name: String
    /// As RFC 5646 writes it.
    public var language: String?
    public var associatedLanguage: String?
    public var stableID: String?
    public var isDefault: Bool
    /// It may be chosen by the user's language, without being asked for.
    public var isAutoselect: Bool
    /// Subtitles that are shown even to who asked for none.
    public var isForced: Bool
    /// Of closed captions: `CC1` to `CC4`, `SERVICE1` to `SERVICE63`.
    public var instreamID: String?
    public var bitDepth: Int64?
    public var sampleRate: Int64?
    /// Uniform type identifiers and the like.
    public var characteristics: [String]
    /// Count, and after slashes what else is said of the channels.
    public var channels: String?
    public var pathwayID: String?

    public init(
        _ kind: Kind, uri: String? = nil, group: String, name: String, language: String? = nil,
        isDefault: Bool = false, isAutoselect: Bool = false, isForced: Bool = false, channels: String? = nil
    ) {
        self.kind = kind
        self.uri = uri
        self.group = group
        self.name = name
        self.language = language
        self.isDefault = isDefault
        self.isAutoselect = isAutoselect
        self.isForced = isForced
        characteristics = []
        self.channels = channels
    }

    /// - Returns: nil for a kind that is not known, which is ignored.
    init?(_ list: AttributeList) throws(PlaylistError) {
        guard let kind = Kind(rawValue: try list.required("TYPE")) else { return nil }
        self.kind = kind
        uri = list.string("URI")
        group = try list.required("GROUP-ID")
        name = try list.required("NAME")
        language = list.string("LANGUAGE")
        associatedLanguage = list.string("ASSOC-LANGUAGE")
        stableID = list.string("STABLE-RENDITION-ID")
        isDefault = list.isYes("DEFAULT")
        isAutoselect = list.isYes("AUTOSELECT")
        isForced = list.isYes("FORCED")
        instreamID = list.string("INSTREAM-ID")
        bitDepth = try list.integer("BIT-DEPTH")
        sampleRate = try list.integer("SAMPLE-RATE")
        characteristics = list.list("CHARACTERISTICS")
        channels = list.string("CHANNELS")
        pathwayID = list.string("PATHWAY-ID")
    }

    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.bare("TYPE", kind.rawValue)
        writer.quoted("GROUP-ID", group)
        writer.quoted("NAME", name)
        writer.quoted("LANGUAGE", language)
        writer.quoted("ASSOC-LANGUAGE", associatedLanguage)
        writer.quoted("STABLE-RENDITION-ID", stableID)
        writer.yes("DEFAULT", isDefault)
        writer.yes("AUTOSELECT", isAutoselect)
        writer.yes("FORCED", isForced)
        writer.quoted("INSTREAM-ID", instreamID)
        writer.number("BIT-DEPTH", bitDepth)
        writer.number("SAMPLE-RATE", sampleRate)
        writer.quoted("CHARACTERISTICS", characteristics)
        writer.quoted("CHANNELS", channels)
        writer.quoted("PATHWAY-ID", pathwayID)
        writer.quoted("URI", uri)
        return writer
    }
}
