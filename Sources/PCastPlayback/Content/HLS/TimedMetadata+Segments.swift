internal import Foundation
internal import PCastHLS
internal import PCastMedia

extension TimedMetadata {
    /// In an event message that is an ID3 tag (AOMedia, "Carriage of ID3 Timed Metadata in CMAF").
    private static let taggedScheme = "https://aomedia.org/emsg/ID3"

    static func all(in message: EventMessage, at position: TimeSpan) -> [TimedMetadata] {
        if message.scheme == taggedScheme, let tag = ID3Tag(message.message) { return all(in: tag, at: position) }
        return [
            TimedMetadata(
                source: .emsg, position: position, duration: message.duration, name: message.scheme,
                identifier: String(message.id), value: text(message.message))
        ]
    }

    static func all(in tag: ID3Tag, at position: TimeSpan) -> [TimedMetadata] {
        tag.frames.map { frame in
            TimedMetadata(
                source: .id3, position: position, name: frame.name, identifier: frame.id,
                value: frame.text ?? text(frame.bytes))
        }
    }

    init(_ range: DateRange, in ranges: [DateRange], at position: TimeSpan) {
        var attributes = range.attributes.map { "\($0.name)=\($0.value.text)" }
        attributes += range.scte35.map { "\($0.kind.rawValue)=\($0.text)" }
        self.init(
            source: .dateRange, position: position,
            duration: ranges.end(of: range).map { max($0 - range.start, .zero) } ?? range.plannedDuration,
            name: range.classID ?? "", identifier: range.id, value: attributes.joined(separator: ","))
    }

    private static func text(_ bytes: [UInt8]) -> String {
        let isText = bytes.allSatisfy { $0 >= 0x20 || [0x09, 0x0A, 0x0D].contains($0) }
        return isText ? String(validating: bytes, as: UTF8.self) ?? Base64.encode(bytes) : Base64.encode(bytes)
    }

    /// The wall time of its position, where it is what encoders put there: an object whose `ut` is in milliseconds since
    /// 1970.
    var wallTime: WallTime? {
        struct Stamp: Decodable { var ut: Double }
        guard value.contains("\"ut\""), let stamp = try? JSONDecoder().decode(Stamp.self, from: Data(value.utf8)),
            stamp.ut > 0, stamp.ut < 8e12
        else { return nil }
        return WallTime(nanosecondsSinceEpoch: Int64(stamp.ut * 1_000_000))
    }
}
