/// Writes an MPEG transport stream with one program, for tests (ISO/IEC 13818-1).
package struct TransportStreamBuilder: Sendable {
    /// A stream of the program.
    package struct Stream: Sendable {
        package let pid: UInt16
        package let type: UInt8
        package let descriptors: [UInt8]

        package init(pid: UInt16, type: UInt8, descriptors: [UInt8] = []) {
            self.pid = pid
            self.type = type
            self.descriptors = descriptors
        }

        /// H.264.
        package static let h264 = Stream(pid: 256, type: 0x1B)
        /// AAC in ADTS.
        package static let aac = Stream(pid: 257, type: 0x0F)
        /// Stereo Opus.
        package static let opus = Stream(
            pid: 258, type: 0x06, descriptors: [5, 4] + Array("Opus".utf8) + [0x7F, 2, 0x80, 2])
        /// H.265.
        package static let hevc = Stream(pid: 259, type: 0x24)
        /// H.264 and AAC in ADTS whose samples are encrypted (SAMPLE-AES).
        package static let encryptedH264 = Stream(pid: 256, type: 0xDB)
        package static let encryptedAAC = Stream(pid: 257, type: 0xCF)
        /// Splice messages (SCTE 35).
        package static let splices = Stream(pid: 260, type: 0x86)
    }

    private static let programPID: UInt16 = 4_096
    private var counters: [UInt16: UInt8] = [:]
    /// The bytes that were written.
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Writes the tables of a program.
    package mutating func program(_ streams: [Stream], version: UInt8 = 0) {
        let flags = 0xC1 | version << 1 & 0x3E
        let pid = Self.programPID
        section(0, table: 0, [0, 1, flags, 0, 0, 0, 1, 0xE0 | UInt8(pid >> 8), UInt8(pid & 0xFF)])
        var body: [UInt8] = [0, 1, flags, 0, 0, 0xE1, 0, 0xF0, 0]
        for stream in streams {
            body += [stream.type, 0xE0 | UInt8(stream.pid >> 8), UInt8(stream.pid & 0xFF)]
            body += [0xF0, UInt8(stream.descriptors.count)] + stream.descriptors
        }
        section(pid, table: 2, body)
    }

    /// Writes a table with its length and checksum.
    package mutating func section(_ pid: UInt16, table: UInt8, _ body: [UInt8]) {
        packets(pid, [0] + Self.section(table, 0xB0, body))
    }

    /// Returns a section with a splice message (SCTE 35), whose body begins with the version of the protocol.
    package static func splice(_ body: [UInt8]) -> [UInt8] { section(0xFC, 0x30, body) }

    private static func section(_ table: UInt8, _ flags: UInt8, _ body: [UInt8]) -> [UInt8] {
        let size = body.count + 4
        let section = [table, flags | UInt8(size >> 8), UInt8(size & 0xFF)] + body
        var checksum: UInt32 = 0xFFFF_FFFF
        for byte in section {
            checksum ^= UInt32(byte) << 24
            for _ in 0..<8 { checksum = checksum & 0x8000_0000 == 0 ? checksum << 1 : checksum << 1 ^ 0x04C1_1DB7 }
        }
        return section + (0..<4).map { UInt8(truncatingIfNeeded: checksum >> (24 - 8 * $0)) }
    }

    /// Writes a PES packet. The times are in units of 90 kHz. The length is stated only if `hasLength` is true.
    package mutating func media(
        _ stream: Stream, _ payload: [UInt8], presentation: UInt64?, decoding: UInt64? = nil, hasLength: Bool = false
    ) {
        var header: [UInt8] = []
        if let presentation { header += Self.time(presentation, decoding == nil ? 2 : 3) }
        if let decoding { header += Self.time(decoding, 1) }
        let flags: UInt8 = presentation == nil ? 0 : decoding == nil ? 0x80 : 0xC0
        let size = hasLength ? 3 + header.count + payload.count : 0
        packets(
            stream.pid,
            [
                0, 0, 1, [0x1B, 0x24, 0xDB].contains(stream.type) ? 0xE0 : 0xC0, UInt8(size >> 8 & 0xFF),
                UInt8(size & 0xFF),
                0x80, flags,
            ]
                + [UInt8(header.count)] + header + payload)
    }

    /// Writes a payload as packets, of which the last one is padded.
    package mutating func packets(_ pid: UInt16, _ payload: [UInt8]) {
        var rest = payload[...]
        var isFirst = true
        repeat {
            let counter = (counters[pid, default: 15] + 1) & 0x0F
            counters[pid] = counter
            let part = rest.prefix(184)
            rest = rest.dropFirst(184)
            bytes += [0x47, (isFirst ? 0x40 : 0) | UInt8(pid >> 8), UInt8(pid & 0xFF)]
            let padding = 184 - part.count
            if padding == 0 {
                bytes.append(0x10 | counter)
            } else {
                bytes += [0x30 | counter, UInt8(padding - 1)]
                if padding > 1 { bytes += [0] + [UInt8](repeating: 0xFF, count: padding - 2) }
            }
            bytes += part
            isFirst = false
        } while !rest.isEmpty
    }

    /// Writes bytes that are no packet.
    package mutating func append(_ other: [UInt8]) { bytes += other }

    private static func time(_ ticks: UInt64, _ mark: UInt8) -> [UInt8] {
        let ticks = ticks & 0x1_FFFF_FFFF
        return [
            mark << 4 | UInt8(ticks >> 30) << 1 | 1, UInt8(ticks >> 22 & 0xFF), UInt8(ticks >> 15 & 0x7F) << 1 | 1,
            UInt8(ticks >> 7 & 0xFF), UInt8(ticks & 0x7F) << 1 | 1,
        ]
    }

    /// A key frame of H.264 with its parameter sets, 64 × 64 pixels, of a size in bytes.
    package static func keyFrame(size: Int = 300) -> [UInt8] {
        [0, 0, 0, 1, 9, 0xF0, 0, 0, 0, 1] + sequenceSet + [0, 0, 0, 1] + pictureSet + [0, 0, 1, 0x65, 0x88]
            + [UInt8](repeating: 0x5A, count: size)
    }

    /// A frame of H.264 that depends on others, of a size in bytes.
    package static func interFrame(size: Int = 100) -> [UInt8] {
        [0, 0, 0, 1, 9, 0xF0, 0, 0, 0, 1, 0x41, 0x9A] + [UInt8](repeating: 0x5A, count: size)
    }

    /// A key frame of H.265 with its parameter sets, of a size in bytes.
    package static func hevcKeyFrame(size: Int = 300) -> [UInt8] {
        [0, 0, 0, 1, 0x46, 1, 0x50] + hevcParameterSets + [0, 0, 1, 0x26, 1, 0xAC]
            + [UInt8](repeating: 0x5A, count: size)
    }

    /// The parameter sets of H.265 of 64 × 48 pixels, as libx265 writes them.
    package static let hevcParameterSets: [UInt8] =
        [
            0, 0, 0, 1, 0x40, 1, 0x0C, 1, 0xFF, 0xFF, 1, 0x60, 0, 0, 3, 0, 0x90, 0, 0, 3, 0, 0, 3, 0, 0x1E, 0x92, 0x80,
            0x90,
        ]
        + [
            0, 0, 0, 1, 0x42, 1, 1, 1, 0x60, 0, 0, 3, 0, 0x90, 0, 0, 3, 0, 0, 3, 0, 0x1E, 0xA0, 0x20, 0x83, 0x16, 0x59,
            0x2A, 0xE4, 0xCA, 0xF0, 0x16, 0x80, 0x80, 0, 0, 3, 0, 0x80, 0, 0, 0x0C, 0x84,
        ]
        + [0, 0, 0, 1, 0x44, 1, 0xC1, 0x73, 0xD0, 0x89]

    /// A frame of AAC with its header, stereo with 48 kHz.
    package static func adts(_ payload: [UInt8]) -> [UInt8] {
        let size = payload.count + 7
        return [0xFF, 0xF1, 0x4C, 0x80 | UInt8(size >> 11), UInt8(size >> 3 & 0xFF), UInt8(size & 7) << 5 | 0x1F, 0xFC]
            + payload
    }

    /// A packet of Opus with its control header, 20 ms.
    package static func opus(_ payload: [UInt8]) -> [UInt8] {
        let packet = [0xFC] + payload
        return [0x7F, 0xE0] + [UInt8](repeating: 255, count: packet.count / 255) + [UInt8(packet.count % 255)] + packet
    }

    private static let sequenceSet: [UInt8] = [0x67, 0x42, 0xC0, 0x1F, 0xFD, 0xA0, 0x28]
    private static let pictureSet: [UInt8] = [0x68, 0xCE, 0x3C, 0x80]
}
