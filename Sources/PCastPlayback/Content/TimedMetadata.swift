internal import Foundation
internal import PCastCore
internal import PCastHLS

/// Metadata of the media at a position: an ID3 tag (`TXXX`, `COMM`, `PRIV`), an `emsg` box (ISO/IEC 23009-1), or an
/// `EXT-X-DATERANGE` tag (RFC 8216, section 4.3.2.7).
public struct TimedMetadata: Hashable, Sendable {
    /// The form of the metadata in the media.
    public enum Source: String, Hashable, Sendable { case id3, emsg, dateRange }

    /// The form of the metadata in the media.
    public var source: Source
    /// The position in the item.
    public var position: Duration
    /// The duration; nil if it has none.
    public var duration: Duration?
    /// The description of the ID3 frame, the scheme of the event message, or the class of the date range; may be empty.
    public var name: String
    /// The ID of the ID3 frame, the event message or the date range; nil if it has none.
    public var identifier: String?
    /// The value as text, or in Base64 if it is not text.
    public var value: String

    /// Creates metadata.
    public init(
        source: Source, position: Duration, duration: Duration? = nil, name: String, identifier: String? = nil,
        value: String
    ) {
        (self.source, self.position, self.duration) = (source, position, duration)
        (self.name, self.identifier, self.value) = (name, identifier, value)
    }
}

extension TimedMetadata {
    /// Returns the metadata of consecutive ID3 tags, up to the first that is not valid.
    static func all(inTags bytes: [UInt8], at position: TimeSpan) -> [TimedMetadata] {
        var all: [TimedMetadata] = []
        var rest = bytes
        while let tag = ID3Tag(rest) {
            all += Self.all(in: tag, at: position)
            rest = Array(rest.dropFirst(tag.size))
        }
        return all
    }

    /// Returns the metadata of an ID3 tag, without the timestamp of the media after it.
    static func all(in tag: ID3Tag, at position: TimeSpan) -> [TimedMetadata] {
        tag.frames.filter { !$0.isTransportTimestamp }.map { frame in
            TimedMetadata(
                source: .id3, position: position.duration, name: frame.name, identifier: frame.id,
                value: frame.text ?? text(frame.bytes))
        }
    }

    /// Returns bytes as text if they are UTF-8 without control characters, otherwise in Base64.
    static func text(_ bytes: [UInt8]) -> String {
        let isText = bytes.allSatisfy { $0 >= 0x20 || [0x09, 0x0A, 0x0D].contains($0) }
        return isText ? String(validating: bytes, as: UTF8.self) ?? Base64.encode(bytes) : Base64.encode(bytes)
    }

    /// The position in the item.
    var start: TimeSpan { TimeSpan(position) }

    /// The wall-clock time of the position, if the value is the JSON object that encoders insert, with the field `ut`
    /// in milliseconds since 1970; nil otherwise.
    var wallTime: WallTime? {
        struct Stamp: Decodable { var ut: Double }
        guard value.contains("\"ut\""), let stamp = try? JSONDecoder().decode(Stamp.self, from: Data(value.utf8)),
            stamp.ut > 0, stamp.ut < 8e12
        else { return nil }
        return WallTime(nanosecondsSinceEpoch: Int64(stamp.ut * 1_000_000))
    }
}

/// The wall-clock times from timed metadata, each once, even if it is read again.
struct MetadataAnchors {
    /// The maximum number of anchors. The oldest are removed.
    private static let capacity = 1_024

    private(set) var all: [TimecodeAnchor] = []
    /// The number of changes.
    private(set) var version = 0

    /// Adds the wall-clock time of metadata, if it has one.
    mutating func learn(from metadata: TimedMetadata) {
        guard let wallTime = metadata.wallTime else { return }
        let anchor = TimecodeAnchor(position: metadata.start, wallTime: wallTime, source: .timedMetadata)
        guard !all.contains(anchor) else { return }
        all.append(anchor)
        if all.count > Self.capacity { all.removeFirst() }
        version += 1
    }
}
