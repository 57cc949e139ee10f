public import PCastCore

/// The delivery features of the server and the distance that clients keep from the live edge (`EXT-X-SERVER-CONTROL`;
/// RFC 8216bis, section 4.4.3.8).
public struct ServerControl: Hashable, Sendable {
    /// The distance from the end of the playlist beyond which a delta update may skip segments; nil if there are no
    /// delta updates.
    public var canSkipUntil: TimeSpan?
    /// Whether a delta update may also skip old date ranges.
    public var canSkipDateRanges: Bool
    /// The recommended distance from the end of the playlist (`HOLD-BACK`); nil if the server does not specify it.
    public var holdBack: TimeSpan?
    /// The recommended distance for clients that play partial segments (`PART-HOLD-BACK`); nil if the server does not
    /// specify it.
    public var partHoldBack: TimeSpan?
    /// Whether the server holds a request that names a segment or part until it is available (`CAN-BLOCK-RELOAD`).
    public var canBlockReload: Bool

    /// Creates a value; the defaults mean that the server has no `EXT-X-SERVER-CONTROL` tag.
    public init(
        canSkipUntil: TimeSpan? = nil, canSkipDateRanges: Bool = false, holdBack: TimeSpan? = nil,
        partHoldBack: TimeSpan? = nil, canBlockReload: Bool = false
    ) {
        self.canSkipUntil = canSkipUntil
        self.canSkipDateRanges = canSkipDateRanges
        self.holdBack = holdBack
        self.partHoldBack = partHoldBack
        self.canBlockReload = canBlockReload
    }

    /// Reads the tag.
    ///
    /// - Parameter attributes: The attributes of the tag.
    /// - Throws: ``PlaylistError`` if a duration cannot be read.
    init(_ attributes: AttributeList) throws(PlaylistError) {
        self.init(
            canSkipUntil: try attributes.seconds("CAN-SKIP-UNTIL"),
            canSkipDateRanges: attributes.isYes("CAN-SKIP-DATERANGES"), holdBack: try attributes.seconds("HOLD-BACK"),
            partHoldBack: try attributes.seconds("PART-HOLD-BACK"),
            canBlockReload: attributes.isYes("CAN-BLOCK-RELOAD"))
    }

    /// The attributes of the tag; nil if all have their defaults and the tag is left out.
    var attributes: AttributeWriter? {
        guard self != ServerControl() else { return nil }
        var writer = AttributeWriter()
        writer.yes("CAN-BLOCK-RELOAD", canBlockReload)
        writer.seconds("CAN-SKIP-UNTIL", canSkipUntil)
        writer.yes("CAN-SKIP-DATERANGES", canSkipDateRanges)
        writer.seconds("HOLD-BACK", holdBack)
        writer.seconds("PART-HOLD-BACK", partHoldBack)
        return writer
    }
}
