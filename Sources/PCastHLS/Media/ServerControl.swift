public import PCastMedia

/// What the server offers, and how far behind the end it wants to be played (`EXT-X-SERVER-CONTROL`; RFC 8216bis,
/// section 4.4.3.8).
public struct ServerControl: Hashable, Sendable {
    /// Segments further from the end than this may be left out of updates; nil where there are no delta updates.
    public var canSkipUntil: TimeSpan?
    /// Older date ranges may be left out too.
    public var canSkipDateRanges: Bool
    public var holdBack: TimeSpan?
    /// The same for who plays parts.
    public var partHoldBack: TimeSpan?
    /// A request may name a segment and a part, and is answered once they are there.
    public var canBlockReload: Bool

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

    init(_ attributes: AttributeList) throws(PlaylistError) {
        self.init(
            canSkipUntil: try attributes.seconds("CAN-SKIP-UNTIL"),
            canSkipDateRanges: attributes.isYes("CAN-SKIP-DATERANGES"), holdBack: try attributes.seconds("HOLD-BACK"),
            partHoldBack: try attributes.seconds("PART-HOLD-BACK"),
            canBlockReload: attributes.isYes("CAN-BLOCK-RELOAD"))
    }

    /// nil where there is nothing to say.
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
