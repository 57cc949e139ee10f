public import PCastCore

/// The preferred point to start playback (`EXT-X-START`; RFC 8216, section 4.3.5.2).
public struct StartPoint: Hashable, Sendable {
    /// The offset from the beginning of the playlist, or from its end if it is negative.
    public var offset: TimeSpan
    /// Whether playback begins exactly at the point instead of at the beginning of the segment that contains it.
    public var isPrecise: Bool

    /// Creates a point at an offset, which counts from the end of the playlist if it is negative.
    public init(offset: TimeSpan, isPrecise: Bool = false) {
        self.offset = offset
        self.isPrecise = isPrecise
    }

    /// Reads the tag.
    ///
    /// - Parameter attributes: The attributes of the tag.
    /// - Throws: ``PlaylistError`` if `TIME-OFFSET` is missing or cannot be read.
    init(_ attributes: AttributeList) throws(PlaylistError) {
        self.init(
            offset: try attributes.required("TIME-OFFSET", attributes.signedSeconds),
            isPrecise: attributes.isYes("PRECISE"))
    }

    /// The attributes of the tag.
    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.seconds("TIME-OFFSET", offset)
        writer.yes("PRECISE", isPrecise)
        return writer
    }
}
