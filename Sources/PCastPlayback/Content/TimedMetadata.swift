public import PCastCore

/// Metadata of the media at a position: an ID3 tag (`TXXX`, `COMM`, `PRIV`), an `emsg` box (ISO/IEC 23009-1), or an
/// `EXT-X-DATERANGE` tag (RFC 8216, section 4.3.2.7).
public struct TimedMetadata: Hashable, Sendable {
    /// The form of the metadata in the media.
    public enum Source: String, Hashable, Sendable { case id3, emsg, dateRange }

    /// The form of the metadata in the media.
    public var source: Source
    /// The position in the item.
    public var position: TimeSpan
    /// The duration; nil if it has none.
    public var duration: TimeSpan?
    /// The description of the ID3 frame, the scheme of the event message, or the class of the date range; may be empty.
    public var name: String
    /// The ID of the ID3 frame, the event message or the date range; nil if it has none.
    public var identifier: String?
    /// The value as text, or in Base64 if it is not text.
    public var value: String

    /// Creates metadata.
    public init(
        source: Source, position: TimeSpan, duration: TimeSpan? = nil, name: String, identifier: String? = nil,
        value: String
    ) {
        (self.source, self.position, self.duration) = (source, position, duration)
        (self.name, self.identifier, self.value) = (name, identifier, value)
    }
}
