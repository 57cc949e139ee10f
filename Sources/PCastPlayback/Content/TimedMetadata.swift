public import PCastCore

/// What media say of themselves at a position: an ID3 tag (`TXXX`, `COMM`, `PRIV`), an `emsg` box, an `EXT-X-DATERANGE`.
public struct TimedMetadata: Hashable, Sendable {
    public enum Source: String, Hashable, Sendable { case id3, emsg, dateRange }

    public var source: Source
    public var position: TimeSpan
    /// nil for what is of a moment.
    public var duration: TimeSpan?
    /// The frame's description, the scheme, or the date range's class; may be empty.
    public var name: String
    /// The date range's own, or the event message's; nil without one.
    public var identifier: String?
    /// Text as it is, other bytes in Base64.
    public var value: String

    public init(
        source: Source, position: TimeSpan, duration: TimeSpan? = nil, name: String, identifier: String? = nil,
        value: String
    ) {
        (self.source, self.position, self.duration) = (source, position, duration)
        (self.name, self.identifier, self.value) = (name, identifier, value)
    }
}
