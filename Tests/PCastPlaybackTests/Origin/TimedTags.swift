import PCastCore

/// Inserts timed metadata into segments that FFmpeg created.
enum TimedTags {
    /// Returns an ID3 tag of version 2.3 or 2.4 with one `TXXX` frame.
    static func tag(_ name: String, _ text: String, version: UInt8 = 4) -> [UInt8] {
        let body = [version == 4 ? 3 : 0] + Array(name.utf8) + [0] + Array(text.utf8)
        let size = version == 4 ? syncSafe(body.count) : bytes(UInt64(body.count), 4)
        let frame = Array("TXXX".utf8) + size + [0, 0] + body
        return Array("ID3".utf8) + [version, 0, 0] + syncSafe(frame.count) + frame
    }

    /// Returns an ID3 tag with the time of the data after it, by the clock of MPEG-TS (RFC 8216, section 3.4).
    static func timestamp(_ ticks: Int64) -> [UInt8] {
        let body = Array("com.apple.streaming.transportStreamTimestamp".utf8) + [0] + bytes(UInt64(ticks), 8)
        let frame = Array("PRIV".utf8) + syncSafe(body.count) + [0, 0] + body
        return Array("ID3".utf8) + [4, 0, 0] + syncSafe(frame.count) + frame
    }

    private static func syncSafe(_ number: Int) -> [UInt8] {
        (0..<4).map { UInt8(number >> (7 * (3 - $0)) & 0x7F) }
    }

    /// Returns an event message of version 1 with a media time, or of version 0 with a time relative to its segment.
    static func message(_ scheme: String, at time: TimeSpan, isRelative: Bool, _ message: [UInt8]) -> [UInt8] {
        let words = Array(scheme.utf8) + [0, 0]
        let ticks = UInt64(time.seconds * 1_000)
        let numbers = bytes(1_000, 4) + bytes(ticks, isRelative ? 4 : 8) + bytes(0xFFFF_FFFF, 4) + bytes(7, 4)
        let body = [isRelative ? 0 : 1, 0, 0, 0] + (isRelative ? words + numbers : numbers + words) + message
        return bytes(UInt64(body.count + 8), 4) + Array("emsg".utf8) + body
    }

    private static func bytes(_ number: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64(count - 1 - $0))) }
    }
}
