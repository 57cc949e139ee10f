public import PCastMedia

/// Where to begin (`EXT-X-START`; RFC 8216, section 4.3.5.2).
public struct StartPoint: Hashable, Sendable {
    /// From the beginning of the playlist, or from its end where it is negative.
    public var offset: TimeSpan
    /// Nothing before the point shall be shown, though its segment begins earlier.
    public var isPrecise: Bool

    public init(offset: TimeSpan, isPrecise: Bool = false) {
        self.offset = offset
        self.isPrecise = isPrecise
    }

    init(_ attributes: AttributeList) throws(PlaylistError) {
        self.init(
            offset: try attributes.required("TIME-OFFSET", attributes.signedSeconds),
            isPrecise: attributes.isYes("PRECISE"))
    }

    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.seconds("TIME-OFFSET", offset)
        writer.yes("PRECISE", isPrecise)
        return writer
    }
}
