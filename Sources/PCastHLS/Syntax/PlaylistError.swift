/// The reason why a playlist was rejected. The description says what is wrong and what to do.
public enum PlaylistError: Error, Hashable, Sendable {
    /// The text does not begin with `#EXTM3U`, or begins with a byte order mark (RFC 8216, section 4).
    case notAPlaylist
    /// The bytes are not UTF-8 (RFC 8216, section 4).
    case notUTF8
    /// The text is longer than ``PlaylistLimits/textSize``, either as received or after variables are replaced.
    case tooLarge
    /// The line is longer than ``PlaylistLimits/lineSize``.
    case lineTooLong(line: Int)
    /// The line contains a control character.
    case controlCharacter(line: Int)
    /// The playlist contains more of something than ``PlaylistLimits/Counted/maximum``.
    case tooMany(PlaylistLimits.Counted, line: Int)
    /// The segments together last longer than ten years.
    case tooLong
    /// `EXT-X-VERSION` is higher than ``PlaylistLimits/version``.
    case unsupportedVersion(Int)
    /// The line has a tag of media playlists in a multivariant playlist or vice versa (RFC 8216, section 4.1).
    case mixedKinds(line: Int)
    /// A tag that playback depends on has a value that cannot be read, or is in the wrong place.
    case malformedTag(String, line: Int)
    /// An attribute has a value that cannot be read.
    case malformedAttribute(String, tag: String, line: Int)
    /// A required attribute is missing.
    case missingAttribute(String, tag: String, line: Int)
    /// A required tag is missing.
    case missingTag(String)
    /// A URI line has no `EXTINF` before it.
    case segmentWithoutDuration(line: Int)
    /// `EXT-X-STREAM-INF` has no URI line after it.
    case variantWithoutURI(line: Int)
    /// A byte range without an offset has no preceding range in the same resource (RFC 8216, section 4.3.2.2).
    case byteRangeWithoutStart(line: Int)
    /// `{$name}` refers to a variable without an `EXT-X-DEFINE` before it.
    case undefinedVariable(String, line: Int)
    /// `EXT-X-DEFINE` repeats the name of a variable.
    case variableDefinedTwice(String, line: Int)
    /// The value of a variable contains or completes a reference to a variable.
    case nestedVariable(line: Int)
    /// A delta update skips segments that the earlier playlist does not contain.
    case skippedSegmentsUnknown(first: Int64, count: Int)
}

extension PlaylistError: CustomStringConvertible {
    /// The message for a person: the problem, and the way to correct it.
    public var description: String {
        switch self {
        case .notAPlaylist:
            "the text does not begin with #EXTM3U; check that the address is that of a playlist without a byte order mark"
        case .notUTF8: "the playlist is not UTF-8; have the server encode it as UTF-8"
        case .tooLarge:
            "the playlist has more than \(PlaylistLimits.textSize) bytes; have the server keep a shorter window"
        case .lineTooLong(let line): "line \(line) is too long; shorten it"
        case .controlCharacter(let line): "line \(line) contains a control character; remove it"
        case .tooMany(let counted, let line):
            "line \(line) is beyond the limit of \(counted.maximum) \(counted.rawValue); remove the oldest"
        case .tooLong: "the total duration of the segments is too long; check the durations"
        case .unsupportedVersion(let version):
            "version \(version) of the format is not supported; have the server write version "
                + "\(PlaylistLimits.version) or an earlier one"
        case .mixedKinds(let line):
            "line \(line) has a tag of the other kind of playlist; write variants and segments into playlists of "
                + "their own"
        case .malformedTag(let tag, let line): "line \(line): the value of \(tag) is invalid; correct it"
        case .malformedAttribute(let name, let tag, let line):
            "line \(line): \(name) of \(tag) is invalid; correct it"
        case .missingAttribute(let name, let tag, let line): "line \(line): \(tag) has no \(name); add it"
        case .missingTag(let tag): "the playlist has no \(tag); add it"
        case .segmentWithoutDuration(let line): "line \(line): a URI without EXTINF before it; add the duration"
        case .variantWithoutURI(let line): "line \(line): EXT-X-STREAM-INF without a URI after it; add the URI"
        case .byteRangeWithoutStart(let line):
            "line \(line): a byte range without an offset follows no other byte range; add the offset"
        case .undefinedVariable(let name, let line):
            "line \(line): the variable \(name) is not defined; add EXT-X-DEFINE before it"
        case .variableDefinedTwice(let name, let line):
            "line \(line): the variable \(name) is already defined; remove one of the definitions"
        case .nestedVariable(let line):
            "line \(line): a variable's value refers to another variable; write the whole value"
        case .skippedSegmentsUnknown(let first, let count):
            "the delta update skips segments \(first) to \(first + Int64(max(count, 1)) - 1), which are not loaded; "
                + "load the playlist without _HLS_skip"
        }
    }
}
