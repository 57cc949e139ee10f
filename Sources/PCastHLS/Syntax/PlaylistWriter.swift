internal import PCastCore

/// Writes a playlist line by line. It removes characters that a line or quoted string cannot hold, so that a title or
/// name cannot inject a line.
struct PlaylistWriter {
    private(set) var text = "#EXTM3U\n"

    /// Writes a tag without a value, if it is set.
    mutating func flag(_ tag: PlaylistTag, if isSet: Bool = true) {
        if isSet { text += "#\(tag.rawValue)\n" }
    }

    /// Writes a tag with a value.
    mutating func tag(_ tag: PlaylistTag, _ value: String) { text += "#\(tag.rawValue):\(Self.onOneLine(value))\n" }

    /// Writes a tag with attributes.
    mutating func tag(_ tag: PlaylistTag, _ attributes: AttributeWriter) {
        text += "#\(tag.rawValue):\(attributes.text)\n"
    }

    mutating func uri(_ uri: String) { text += Self.onOneLine(uri) + "\n" }

    /// Removes control characters other than tabs.
    static func onOneLine(_ text: String) -> String {
        guard !text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else { return text }
        return String(decoding: text.utf8.filter { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }, as: UTF8.self)
    }
}

/// Writes an attribute list. It leaves out attributes whose value is nil.
struct AttributeWriter {
    private(set) var text = ""

    /// Adds a value without quotes. Commas and quotes in it are removed.
    mutating func unquoted(_ name: String, _ value: String?) {
        guard let value else { return }
        if !text.isEmpty { text += "," }
        let plain = value.utf8.filter { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "\"") }
        text += "\(name)=" + PlaylistWriter.onOneLine(String(decoding: plain, as: UTF8.self))
    }

    /// Adds a quoted string. Quotes in it are removed.
    mutating func quoted(_ name: String, _ value: String?) {
        guard let value else { return }
        if !text.isEmpty { text += "," }
        let plain = value.utf8.filter { $0 != UInt8(ascii: "\"") }
        text += "\(name)=\"" + PlaylistWriter.onOneLine(String(decoding: plain, as: UTF8.self)) + "\""
    }

    /// Adds a list as a quoted string, unless it is empty.
    mutating func quoted(_ name: String, _ values: [String], separator: String = ",") {
        if !values.isEmpty { quoted(name, values.joined(separator: separator)) }
    }

    /// Adds `YES`, if it is set.
    mutating func yesIfSet(_ name: String, _ isSet: Bool) {
        if isSet { unquoted(name, "YES") }
    }

    /// Adds a decimal integer.
    mutating func number(_ name: String, _ value: Int64?) { unquoted(name, value.map { String($0) }) }

    /// Adds a duration in seconds.
    mutating func seconds(_ name: String, _ value: TimeSpan?) {
        unquoted(name, value.map { PlaylistNumber.text(billionths: $0.nanoseconds) })
    }

    /// Adds a decimal fraction.
    mutating func fraction(_ name: String, _ value: Double?) {
        unquoted(name, value.map { PlaylistNumber.text(billionths: Int64(($0 * 1e9).rounded())) })
    }

    /// Adds a quoted or unquoted value.
    mutating func value(_ name: String, _ value: AttributeValue) {
        switch value {
        case .quoted(let text): quoted(name, text)
        case .unquoted(let text): unquoted(name, text)
        }
    }
}

/// The known tags; others are ignored (RFC 8216, section 6.3.1).
enum PlaylistTag: String {
    // Tags of both kinds of playlist.
    case version = "EXT-X-VERSION"
    case independentSegments = "EXT-X-INDEPENDENT-SEGMENTS"
    case start = "EXT-X-START"
    case define = "EXT-X-DEFINE"
    // Tags of media playlists.
    case targetDuration = "EXT-X-TARGETDURATION"
    case mediaSequence = "EXT-X-MEDIA-SEQUENCE"
    case discontinuitySequence = "EXT-X-DISCONTINUITY-SEQUENCE"
    case endList = "EXT-X-ENDLIST"
    case playlistType = "EXT-X-PLAYLIST-TYPE"
    case iFramesOnly = "EXT-X-I-FRAMES-ONLY"
    case partInformation = "EXT-X-PART-INF"
    case serverControl = "EXT-X-SERVER-CONTROL"
    case segment = "EXTINF"
    case byteRange = "EXT-X-BYTERANGE"
    case discontinuity = "EXT-X-DISCONTINUITY"
    case key = "EXT-X-KEY"
    case map = "EXT-X-MAP"
    case programDateTime = "EXT-X-PROGRAM-DATE-TIME"
    case gap = "EXT-X-GAP"
    case bitrate = "EXT-X-BITRATE"
    case part = "EXT-X-PART"
    case dateRange = "EXT-X-DATERANGE"
    case skip = "EXT-X-SKIP"
    case preloadHint = "EXT-X-PRELOAD-HINT"
    case renditionReport = "EXT-X-RENDITION-REPORT"
    // Tags of multivariant playlists.
    case media = "EXT-X-MEDIA"
    case streamInformation = "EXT-X-STREAM-INF"
    case iFrameStreamInformation = "EXT-X-I-FRAME-STREAM-INF"
    case sessionData = "EXT-X-SESSION-DATA"
    case sessionKey = "EXT-X-SESSION-KEY"
    case contentSteering = "EXT-X-CONTENT-STEERING"

    /// The kinds of playlist that may contain a tag.
    enum AllowedPlaylist { case anywhere, media, multivariant }

    /// The kind of playlist that may contain the tag.
    var allowedPlaylist: AllowedPlaylist {
        switch self {
        case .version, .independentSegments, .start, .define: .anywhere
        case .media, .streamInformation, .iFrameStreamInformation, .sessionData, .sessionKey, .contentSteering:
            .multivariant
        default: .media
        }
    }
}
