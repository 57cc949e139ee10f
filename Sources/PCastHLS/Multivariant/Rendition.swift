/// An alternative version of a medium, e.g. a language, a camera angle or subtitles (`EXT-X-MEDIA`; RFC 8216, section
/// 4.3.4.1).
package struct Rendition: Hashable, Sendable {
    /// The type of the medium (`TYPE`).
    package enum Kind: String, Hashable, Sendable {
        /// Audio.
        case audio = "AUDIO"
        /// Video.
        case video = "VIDEO"
        /// Subtitles in segments of their own.
        case subtitles = "SUBTITLES"
        /// Captions that the video segments contain.
        case closedCaptions = "CLOSED-CAPTIONS"
    }

    /// The type of the medium.
    package var kind: Kind
    /// The URI of the media playlist; nil if the segments of the variant contain the rendition.
    package var uri: String?
    /// The ID of the group, to which variants refer (`GROUP-ID`).
    package var group: String
    /// The description for users, in the language of the rendition (`NAME`).
    package var name: String
    /// The language tag (RFC 5646); nil if it is not specified.
    package var language: String?
    /// The tag of a language that is used with ``language`` in another role, e.g. spoken and written; nil if it is not
    /// specified.
    package var associatedLanguage: String?
    /// An identifier that is the same across playlists (`STABLE-RENDITION-ID`); nil if it is not specified.
    package var stableID: String?
    /// Whether clients play this rendition if the user has not chosen one.
    package var isDefault: Bool
    /// Whether clients may choose this rendition because it matches the language of the user.
    package var isAutoselect: Bool
    /// Whether subtitles are shown even if the user has not enabled subtitles.
    package var isForced: Bool
    /// The channel of closed captions, `CC1` to `CC4` or `SERVICE1` to `SERVICE63`; nil for other types.
    package var instreamID: String?
    /// The bit depth of audio samples; nil if it is not specified.
    package var bitDepth: Int64?
    /// The audio sample rate in hertz; nil if it is not specified.
    package var sampleRate: Int64?
    /// The characteristics, usually uniform type identifiers (`CHARACTERISTICS`).
    package var characteristics: [String]
    /// The number of audio channels, and parameters after slashes, e.g. `6` or `16/JOC`; nil if it is not specified.
    package var channels: String?
    /// The content steering pathway of the rendition (`PATHWAY-ID`); nil if it is not specified.
    package var pathwayID: String?

    /// Creates a rendition; it has no characteristics, and properties without a parameter are nil.
    package init(
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

    /// Reads the tag. Returns nil for an unknown type, which clients ignore.
    ///
    /// - Parameter list: The attributes of the tag.
    /// - Throws: ``PlaylistError`` if a required attribute is missing or a number cannot be read.
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

    /// The attributes of the tag.
    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.unquoted("TYPE", kind.rawValue)
        writer.quoted("GROUP-ID", group)
        writer.quoted("NAME", name)
        writer.quoted("LANGUAGE", language)
        writer.quoted("ASSOC-LANGUAGE", associatedLanguage)
        writer.quoted("STABLE-RENDITION-ID", stableID)
        writer.yesIfSet("DEFAULT", isDefault)
        writer.yesIfSet("AUTOSELECT", isAutoselect)
        writer.yesIfSet("FORCED", isForced)
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
