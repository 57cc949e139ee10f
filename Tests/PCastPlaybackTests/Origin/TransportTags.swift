import PCastCore

/// Inserts timed ID3 into transport streams of ffmpeg, which does not support it. The program map gets a stream of type
/// 0x15 with its descriptors. Each tag gets a packet before the frame that is decoded at its time ("Timed Metadata for
/// HTTP Live Streaming", section 2; ISO/IEC 13818-1, sections 2.4.3, 2.4.4 and 2.6.58 to 2.6.61).
struct TransportTags {
    struct Tag {
        /// The position relative to the first frame.
        var position: TimeSpan
        var bytes: [UInt8]
    }

    // The packet identifiers that FFmpeg uses.
    private static let mapID = 0x1000
    private static let pictureID = 0x100
    private static let tagID = 0x102
    private static let size = 188
    /// The contents of metadata descriptors: application format and metadata format are given by their identifier,
    /// which is ID3.
    private static let identification = [0xFF, 0xFF] + Array("ID3 ".utf8) + [0xFF] + Array("ID3 ".utf8)

    private var waiting: [Tag]
    private var counter: UInt8 = 0
    /// The presentation time of the first frame; nil before it.
    private var origin: Int64?

    /// Inserts the tags into consecutive files of a folder.
    static func insert(_ tags: [Tag], into names: [String], of folder: TemporaryFolder) throws {
        var inserting = TransportTags(waiting: tags.sorted { $0.position < $1.position })
        for name in names {
            let isLast = name == names.last
            try folder.write(inserting.inserted(into: try folder.read(name), isLast: isLast), to: name)
        }
    }

    private init(waiting: [Tag]) { self.waiting = waiting }

    private mutating func inserted(into bytes: [UInt8], isLast: Bool) -> [UInt8] {
        var result: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: Self.size) {
            let packet = bytes[start..<(start + Self.size)]
            let id = Int(packet[start + 1] & 0x1F) << 8 | Int(packet[start + 2])
            let isBeginning = packet[start + 1] & 0x40 != 0
            let hasField = packet[start + 3] & 0x20 != 0
            let payload = start + 4 + (hasField ? 1 + Int(packet[start + 4]) : 0)
            switch (id, isBeginning) {
            case (Self.mapID, true):
                result += Self.map(Array(packet), sectionAt: payload + 1 + Int(packet[payload]) - start)
            case (Self.pictureID, true):
                let shown = Self.time(packet[(payload + 9)...])
                let decoded = packet[payload + 7] & 0x40 != 0 ? Self.time(packet[(payload + 14)...]) : shown
                origin = origin ?? shown
                while let tag = waiting.first, time(of: tag) <= decoded { result += take() }
                result += packet
            default: result += packet
            }
        }
        while isLast, !waiting.isEmpty { result += take() }
        return result
    }

    private func time(of tag: Tag) -> Int64 { (origin ?? 0) + ClockRate.video.ticks(in: tag.position) }

    /// Returns the packets of the next tag.
    private mutating func take() -> [UInt8] {
        let tag = waiting.removeFirst()
        let time = time(of: tag)
        let stamp: [Int64] = [
            0x21 | time >> 29 & 0x0E, time >> 22 & 0xFF, time >> 14 & 0xFE | 1, time >> 7 & 0xFF, time << 1 & 0xFE | 1,
        ]
        let length = tag.bytes.count + 8
        var rest = [0, 0, 1, 0xBD, UInt8(length >> 8), UInt8(length & 0xFF), 0x84, 0x80, 5]
        rest += stamp.map { UInt8($0) } + tag.bytes
        var packets: [UInt8] = []
        var isBeginning = true
        while !rest.isEmpty {
            let room = Self.size - 4
            let padding = max(room - rest.count, 0)
            packets += [0x47, (isBeginning ? 0x40 : 0) | UInt8(Self.tagID >> 8), UInt8(Self.tagID & 0xFF)]
            packets.append((padding > 0 ? 0x30 : 0x10) | counter)
            if padding > 0 { packets.append(UInt8(padding - 1)) }
            if padding > 1 { packets += [0] + Array(repeating: 0xFF, count: padding - 2) }
            packets += rest.prefix(room)
            rest.removeFirst(min(room, rest.count))
            counter = (counter + 1) & 15
            isBeginning = false
        }
        return packets
    }

    private static func time(_ bytes: ArraySlice<UInt8>) -> Int64 {
        let five = bytes.prefix(5).map { Int64($0) }
        return (five[0] >> 1 & 7) << 30 | five[1] << 22 | (five[2] >> 1) << 15 | five[3] << 7 | five[4] >> 1
    }

    /// Returns the program map with an additional stream.
    private static func map(_ packet: [UInt8], sectionAt start: Int) -> [UInt8] {
        let length = Int(packet[start + 1] & 0x0F) << 8 | Int(packet[start + 2])
        var section = Array(packet[start..<(start + 3 + length - 4)])
        let programLength = Int(section[10] & 0x0F) << 8 | Int(section[11])
        let pointer = [0x25, UInt8(identification.count + 4)] + identification + [0, 0x1F, 0, 1]
        let descriptor = [0x26, UInt8(identification.count + 2)] + identification + [0, 0x0F]
        section.insert(contentsOf: pointer, at: 12 + programLength)
        (section[10], section[11]) = (0xF0, UInt8(programLength + pointer.count))
        section += [0x15, 0xE0 | UInt8(tagID >> 8), UInt8(tagID & 0xFF), 0xF0, UInt8(descriptor.count)] + descriptor
        let whole = section.count + 4 - 3
        (section[1], section[2]) = (0xB0 | UInt8(whole >> 8), UInt8(whole & 0xFF))
        var result = Array(packet[..<start]) + section + checksum(section)
        result += Array(repeating: 0xFF, count: size - result.count)
        return result
    }

    /// Returns the CRC-32 of a section (ISO/IEC 13818-1, annex A).
    private static func checksum(_ bytes: [UInt8]) -> [UInt8] {
        var sum: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            sum ^= UInt32(byte) << 24
            for _ in 0..<8 { sum = sum & 0x8000_0000 != 0 ? sum << 1 ^ 0x04C1_1DB7 : sum << 1 }
        }
        return (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * $0)) }
    }
}

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
