import PCastCore

/// Divides AAC with headers of their own (ADTS, ISO/IEC 14496-3, section 1.A.2.2) into frames, which may continue in the
/// next PES packet.
struct ADTSFrames: Sendable {
    /// A frame without its header.
    struct Frame {
        let bytes: [UInt8]
        let configuration: AudioSpecificConfiguration
        let time: TimeSpan
    }

    /// The frames of a packet.
    struct Result {
        var frames: [Frame] = []
        /// The number of places without a valid frame.
        var droppedCount = 0
        /// Whether a frame was dropped because the header does not state its configuration.
        var hasUnknownConfiguration = false
    }

    /// The size of a header in bytes without its checksum.
    private static let headerSize = 7

    /// The beginning of a frame whose rest is in the next packet.
    private var remainder: [UInt8] = []
    /// The time after the last frame; nil before the first.
    private var next: TimeSpan?
    /// The configuration of the last header, which is usually that of the next one.
    private var known: AudioSpecificConfiguration?

    /// Returns the frames that are complete with a packet. The time is the presentation time of the first frame that
    /// begins in it; nil to continue.
    mutating func frames(_ packet: ElementaryPacket, at time: TimeSpan?) -> Result {
        var result = Result()
        if packet.followsLoss { remainder = [] }
        let boundary = remainder.count
        let bytes = remainder + packet.bytes[packet.payloadStart...]
        remainder = []
        var pending = time
        var isLost = false
        var position = 0
        while position + Self.headerSize <= bytes.count {
            guard bytes[position] == 0xFF, bytes[position + 1] & 0xF6 == 0xF0 else {
                // Search for the next header, and count the place once.
                if !isLost { result.droppedCount += 1 }
                isLost = true
                position += 1
                continue
            }
            let header = Array(bytes[position..<position + Self.headerSize])
            let size = Int(header[3] & 3) << 11 | Int(header[4]) << 3 | Int(header[5] >> 5)
            let payload = header[1] & 1 == 0 ? Self.headerSize + 2 : Self.headerSize
            guard size > payload else {
                if !isLost { result.droppedCount += 1 }
                isLost = true
                position += 1
                continue
            }
            if position >= boundary, let start = pending { (next, pending) = (start, nil) }
            guard position + size <= bytes.count else { break }
            // A frame with several blocks cannot be divided without decoding it.
            if header[6] & 3 == 0, let configuration = configuration(header) {
                if let start = next {
                    result.frames.append(
                        Frame(
                            bytes: Array(bytes[position + payload..<position + size]), configuration: configuration,
                            time: start))
                    next = start + configuration.frameDuration
                }
            } else {
                result.droppedCount += 1
                result.hasUnknownConfiguration = true
            }
            isLost = false
            position += size
        }
        // A frame that begins here has the time of this packet, although it ends in the next one.
        if position >= boundary, position < bytes.count, let start = pending { next = start }
        remainder = Array(bytes[position...])
        return result
    }

    /// Returns the configuration that a header states; nil for reserved values, and for channels that only the frame
    /// itself describes.
    private mutating func configuration(_ header: [UInt8]) -> AudioSpecificConfiguration? {
        let type = header[2] >> 6 + 1
        let rate = header[2] >> 2 & 0x0F
        let channels = (header[2] & 1) << 2 | header[3] >> 6
        guard channels != 0 else { return nil }
        let record = [type << 3 | rate >> 1, (rate & 1) << 7 | channels << 3]
        if let known, known.bytes == record { return known }
        known = AudioSpecificConfiguration(record)
        return known
    }
}

/// Divides PES packets of Opus into its packets (Opus in MPEG-TS, as FFmpeg and GStreamer write it).
struct OpusPackets: Sendable {
    /// An Opus packet.
    struct Packet {
        let bytes: [UInt8]
        let time: TimeSpan
    }

    /// The packets of a PES packet.
    struct Result {
        var packets: [Packet] = []
        /// The number of places without a valid packet.
        var droppedCount = 0
    }

    /// The maximum duration of a packet in units of 2.5 ms (RFC 6716, section 3.2.5).
    private static let maximumUnits = 48

    private var next: TimeSpan?

    /// Returns the packets of a PES packet.
    mutating func packets(_ packet: ElementaryPacket, at time: TimeSpan?) -> Result {
        var result = Result()
        if let time { next = time }
        let bytes = packet.bytes
        var position = packet.payloadStart
        while position < bytes.count {
            guard let range = Self.packet(in: bytes, at: &position), let units = Self.units(bytes[range]) else {
                result.droppedCount += 1
                break
            }
            guard let start = next else { continue }
            result.packets.append(Packet(bytes: Array(bytes[range]), time: start))
            next = start + .microseconds(Int64(units) * 2_500)
        }
        return result
    }

    /// Reads a control header. Returns the range of the packet after it, and moves the position behind it; nil if it is
    /// malformed.
    private static func packet(in bytes: [UInt8], at position: inout Int) -> Range<Int>? {
        guard position + 3 <= bytes.count, bytes[position] == 0x7F, bytes[position + 1] & 0xE0 == 0xE0 else {
            return nil
        }
        let flags = bytes[position + 1]
        position += 2
        var size = 0
        while true {
            guard position < bytes.count else { return nil }
            let part = bytes[position]
            position += 1
            size += Int(part)
            if part < 255 { break }
        }
        // The samples to discard at the beginning and at the end.
        if flags & 0x10 != 0 { position += 2 }
        if flags & 0x08 != 0 { position += 2 }
        if flags & 0x04 != 0 {
            guard position < bytes.count else { return nil }
            position += 1 + Int(bytes[position])
        }
        guard size > 0, position + size <= bytes.count else { return nil }
        defer { position += size }
        return position..<position + size
    }

    /// Returns the duration of a packet in units of 2.5 ms (RFC 6716, section 3.1); nil if it is malformed.
    private static func units(_ packet: ArraySlice<UInt8>) -> Int? {
        guard let first = packet.first else { return nil }
        let configuration = Int(first >> 3)
        let frame =
            switch configuration {
            case 0..<12: [4, 8, 16, 24][configuration & 3]
            case 12..<16: [4, 8][configuration & 1]
            default: [1, 2, 4, 8][configuration & 3]
            }
        var count = first & 3 == 0 ? 1 : 2
        if first & 3 == 3 {
            guard let second = packet.dropFirst().first else { return nil }
            count = Int(second & 0x3F)
        }
        let units = frame * count
        return units > 0 && units <= maximumUnits ? units : nil
    }
}
