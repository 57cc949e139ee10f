internal import Foundation
internal import PCastCore
internal import PCastHLS

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

    /// Returns the metadata of an ID3 tag.
    static func all(in tag: ID3Tag, at position: TimeSpan) -> [TimedMetadata] {
        tag.frames.map { frame in
            TimedMetadata(
                source: .id3, position: position, name: frame.name, identifier: frame.id,
                value: frame.text ?? text(frame.bytes))
        }
    }

    /// Returns bytes as text if they are UTF-8 without control characters, otherwise in Base64.
    static func text(_ bytes: [UInt8]) -> String {
        let isText = bytes.allSatisfy { $0 >= 0x20 || [0x09, 0x0A, 0x0D].contains($0) }
        return isText ? String(validating: bytes, as: UTF8.self) ?? Base64.encode(bytes) : Base64.encode(bytes)
    }

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
