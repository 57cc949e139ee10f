import PCastCore

/// Writes an MPEG transport stream with one program of H.264, and AAC or Opus (ISO/IEC 13818-1).
///
/// Each frame is one PES packet. The tables precede each frame with which a viewer can begin, and are repeated.
struct TransportStreamMuxer: Sendable {
    /// The codec of the audio.
    enum Audio: Hashable, Sendable {
        case aac
        /// Mono or stereo, of which a decoder makes two channels.
        case opus
    }

    private enum PID {
        static let program: UInt16 = 4_096
        static let video: UInt16 = 256
        static let audio: UInt16 = 257
    }

    /// The time by which frames precede their presentation, in which the audio of the same time also arrives.
    static let delay = TimeSpan.milliseconds(200)
    /// The largest interval of the tables and of clock references (section 2.7.2 and ETSI TR 101 290, section 5.2).
    private static let longestInterval = TimeSpan.milliseconds(80)
    private static let packetSize = TransportStreamReader.packetSize
    private static let headerSize = 4
    private static let accessUnitDelimiter: [UInt8] = [0, 0, 0, 1, 0x09, 0xF0]

    private let hasVideo: Bool
    private let audio: Audio?
    /// The packets of the tables, without their continuity counters.
    private let tables: [(pid: UInt16, section: [UInt8])]
    private var counters: [UInt16: UInt8] = [:]
    private var lastTables: TimeSpan?
    private var lastReference: TimeSpan?

    /// Creates a stream. It has video, audio or both.
    init(hasVideo: Bool, audio: Audio?) {
        (self.hasVideo, self.audio) = (hasVideo, audio)
        tables = [
            (0, Self.section(table: 0, [0, 1, 0xC1, 0, 0, 0, 1] + Self.bytes(0xE000 | PID.program))),
            (PID.program, Self.programTable(hasVideo: hasVideo, audio)),
        ]
    }

    /// The stream with the clock references.
    private var referencePID: UInt16 { hasVideo ? PID.video : PID.audio }

    /// Returns the packets of a frame of H.264 in Annex B format without a delimiter. The time of presentation must
    /// exceed ``delay``.
    mutating func video(_ bytes: [UInt8], isKeyFrame: Bool, at time: TimeSpan) -> [UInt8] {
        var packets = tables(at: time, isBeginning: isKeyFrame)
        let payload = Self.elementaryPacket(0xE0, time, Self.accessUnitDelimiter + bytes)
        // The clock never goes back, although audio of a later time may precede.
        let reference = lastReference.map { time > $0 } ?? true ? time : nil
        lastReference = reference ?? lastReference
        append(payload, to: &packets, PID.video, reference: reference, isRandomAccess: isKeyFrame)
        return packets
    }

    /// Returns the packets of a frame of AAC with its header, or a packet of Opus. `isBeginning` is whether a viewer can
    /// begin with it. It is empty for a packet that is too large.
    mutating func audio(_ bytes: [UInt8], isBeginning: Bool, at time: TimeSpan) -> [UInt8] {
        guard let audio, bytes.count <= 0xE000 else { return [] }
        var packets = tables(at: time, isBeginning: isBeginning)
        let isDue = lastReference.map { time - $0 >= Self.longestInterval } ?? true
        if isDue { lastReference = time }
        if isDue, hasVideo { appendReference(time, to: &packets) }
        // Opus is private data (stream ID 0xBD).
        let payload =
            switch audio {
            case .aac: Self.elementaryPacket(0xC0, time, bytes)
            case .opus: Self.elementaryPacket(0xBD, time, Self.opusHeader(of: bytes) + bytes)
            }
        append(
            payload, to: &packets, PID.audio, reference: isDue && !hasVideo ? time : nil, isRandomAccess: isBeginning)
        return packets
    }

    /// Returns the header of a frame of AAC (ADTS; ISO/IEC 14496-3, section 1.A.2.2). Returns nil if the configuration is
    /// that of another codec, or the frame is too large.
    static func adtsHeader(of size: Int, _ configuration: AudioSpecificConfiguration) -> [UInt8]? {
        let record = configuration.bytes
        let total = size + 7
        guard record.count >= 2, (1...4).contains(record[0] >> 3), total < 1 << 13 else { return nil }
        let rate = (record[0] & 7) << 1 | record[1] >> 7
        let channels = record[1] >> 3 & 0x0F
        guard rate < 13, (1...7).contains(channels) else { return nil }
        return [
            0xFF, 0xF1, (record[0] >> 3 - 1) << 6 | rate << 2 | channels >> 2,
            (channels & 3) << 6 | UInt8(total >> 11), UInt8(total >> 3 & 0xFF), UInt8(total & 7) << 5 | 0x1F, 0xFC,
        ]
    }

    // MARK: Tables

    private mutating func tables(at time: TimeSpan, isBeginning: Bool) -> [UInt8] {
        let isDue = lastTables.map { time - $0 >= Self.longestInterval } ?? true
        guard isDue || isBeginning else { return [] }
        lastTables = time
        var packets: [UInt8] = []
        for (pid, section) in tables { append([0] + section, to: &packets, pid, fillsPayload: true) }
        return packets
    }

    private static func programTable(hasVideo: Bool, _ audio: Audio?) -> [UInt8] {
        let reference = hasVideo ? PID.video : PID.audio
        var body: [UInt8] = [0, 1, 0xC1, 0, 0] + bytes(0xE000 | reference) + [0xF0, 0]
        if hasVideo { body += [0x1B] + bytes(0xE000 | PID.video) + [0xF0, 0] }
        switch audio {
        case .aac: body += [0x0F] + bytes(0xE000 | PID.audio) + [0xF0, 0]
        case .opus:
            // A registration descriptor, and the number of channels (ETSI TS 101 154, annex on Opus).
            let descriptors: [UInt8] = [5, 4] + Array("Opus".utf8) + [0x7F, 2, 0x80, 2]
            body += [0x06] + bytes(0xE000 | PID.audio) + [0xF0, UInt8(descriptors.count)] + descriptors
        case nil: break
        }
        return section(table: 2, body)
    }

    /// Returns a section with its length and checksum.
    private static func section(table: UInt8, _ body: [UInt8]) -> [UInt8] {
        let section = [table] + bytes(0xB000 | UInt16(body.count + 4)) + body
        let checksum = CyclicRedundancyCheck.value(of: section)
        return section + bytes(UInt16(checksum >> 16)) + bytes(UInt16(checksum & 0xFFFF))
    }

    // MARK: Packets

    /// Returns a PES packet with a time of presentation (section 2.4.3.6). Its length is stated if it fits into 16 bits,
    /// so that a receiver need not wait for the next one.
    private static func elementaryPacket(_ streamID: UInt8, _ time: TimeSpan, _ payload: [UInt8]) -> [UInt8] {
        let ticks = UInt64(bitPattern: ClockRate.video.ticks(in: time)) & 0x1_FFFF_FFFF
        let size = 3 + 5 + payload.count
        var packet: [UInt8] = []
        packet.reserveCapacity(6 + size)
        packet += [0, 0, 1, streamID] + bytes(size <= 0xFFFF ? UInt16(size) : 0)
        // The payload begins with a frame (data_alignment_indicator).
        packet += [0x84, 0x80, 5]
        packet += [
            0x21 | UInt8(ticks >> 30) << 1, UInt8(ticks >> 22 & 0xFF), UInt8(ticks >> 15 & 0x7F) << 1 | 1,
            UInt8(ticks >> 7 & 0xFF), UInt8(ticks & 0x7F) << 1 | 1,
        ]
        return packet + payload
    }

    /// Appends the packets of a payload. The last one is padded: with bytes after a section, otherwise before the payload.
    private mutating func append(
        _ payload: [UInt8], to packets: inout [UInt8], _ pid: UInt16, reference: TimeSpan? = nil,
        isRandomAccess: Bool = false, fillsPayload: Bool = false
    ) {
        var position = 0
        repeat {
            let isFirst = position == 0
            var adaptation: [UInt8] = []
            if isFirst, reference != nil || isRandomAccess {
                adaptation.append((isRandomAccess ? 0x40 : 0) | (reference == nil ? 0 : 0x10))
                if let reference { adaptation += Self.clockReference(reference) }
            }
            let available = Self.packetSize - Self.headerSize - (adaptation.isEmpty ? 0 : 1 + adaptation.count)
            let count = min(available, payload.count - position)
            let padding = available - count
            let counter = nextCounter(of: pid)
            let hasAdaptation = !adaptation.isEmpty || (padding > 0 && !fillsPayload)
            packets += [0x47] + Self.bytes((isFirst ? 0x4000 : 0) | pid)
            packets.append((hasAdaptation ? 0x30 : 0x10) | counter)
            if hasAdaptation {
                if adaptation.isEmpty {
                    packets.append(UInt8(padding - 1))
                    if padding > 1 { packets.append(0) }
                    packets += [UInt8](repeating: 0xFF, count: max(0, padding - 2))
                } else {
                    packets.append(UInt8(adaptation.count + padding))
                    packets += adaptation + [UInt8](repeating: 0xFF, count: padding)
                }
            }
            packets += payload[position..<position + count]
            if fillsPayload { packets += [UInt8](repeating: 0xFF, count: padding) }
            position += count
        } while position < payload.count
    }

    /// Appends a packet with a clock reference only, whose continuity counter does not advance (section 2.4.3.3).
    private mutating func appendReference(_ time: TimeSpan, to packets: inout [UInt8]) {
        let adaptation = [0x10] + Self.clockReference(time)
        let padding = Self.packetSize - Self.headerSize - 1 - adaptation.count
        packets += [0x47] + Self.bytes(referencePID)
        packets.append(0x20 | (counters[referencePID] ?? 15))
        packets.append(UInt8(adaptation.count + padding))
        packets += adaptation + [UInt8](repeating: 0xFF, count: padding)
    }

    private mutating func nextCounter(of pid: UInt16) -> UInt8 {
        let counter = ((counters[pid] ?? 15) + 1) & 0x0F
        counters[pid] = counter
        return counter
    }

    /// Returns the clock reference of a packet whose frame is presented at a time (section 2.4.3.5), without the part below
    /// 90 kHz.
    private static func clockReference(_ time: TimeSpan) -> [UInt8] {
        let ticks = UInt64(bitPattern: ClockRate.video.ticks(in: time - delay)) & 0x1_FFFF_FFFF
        return [
            UInt8(ticks >> 25 & 0xFF), UInt8(ticks >> 17 & 0xFF), UInt8(ticks >> 9 & 0xFF), UInt8(ticks >> 1 & 0xFF),
            UInt8(ticks & 1) << 7 | 0x7E, 0,
        ]
    }

    private static func opusHeader(of packet: [UInt8]) -> [UInt8] {
        [0x7F, 0xE0] + [UInt8](repeating: 255, count: packet.count / 255) + [UInt8(packet.count % 255)]
    }

    private static func bytes(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }
}
