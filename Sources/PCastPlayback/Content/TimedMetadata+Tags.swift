internal import Foundation
internal import PCastCore
internal import PCastHLS

extension TimedMetadata {
    /// What tags say that stand one behind another; nothing from the first on that cannot be read.
    static func all(inTags bytes: [UInt8], at position: TimeSpan) -> [TimedMetadata] {
        var all: [TimedMetadata] = []
        var rest = bytes
        while let tag = ID3Tag(rest) {
            all += Self.all(in: tag, at: position)
            rest = Array(rest.dropFirst(tag.size))
        }
        return all
    }

    static func all(in tag: ID3Tag, at position: TimeSpan) -> [TimedMetadata] {
        tag.frames.map { frame in
            TimedMetadata(
                source: .id3, position: position, name: frame.name, identifier: frame.id,
                value: frame.text ?? text(frame.bytes))
        }
    }

    /// Bytes as they are told.
    static func text(_ bytes: [UInt8]) -> String {
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
