import PCastCore

/// An elementary stream of a program (ISO/IEC 13818-1, section 2.4.4.9).
struct ElementaryStream: Hashable, Sendable {
    /// The identifier of its packets (PID).
    let pid: UInt16
    /// The `stream_type` (table 2-34).
    let type: UInt8
    /// The descriptors.
    let descriptors: [UInt8]
}

/// A PES packet of an elementary stream (ISO/IEC 13818-1, section 2.4.3.6).
struct ElementaryPacket: Sendable {
    /// The identifier of the stream.
    let pid: UInt16
    /// The packet with its header.
    let bytes: [UInt8]
    /// The offset of the payload.
    let payloadStart: Int
    /// The presentation time in units of 90 kHz modulo 2³³; nil if it is absent.
    let presentationTime: UInt64?
    /// The decoding time in the same units; nil if it is that of the presentation.
    let decodingTime: UInt64?
    /// Whether bytes of the stream were lost before it.
    let followsLoss: Bool
}

/// Counters of a transport stream.
package struct TransportStreamStatistics: Hashable, Sendable {
    /// The number of transport packets, without those of padding.
    package var packets = 0
    /// The number of times that no packet began where it should.
    package var synchronizationLosses = 0
    /// The number of gaps in the continuity counters of media and tables.
    package var gaps = 0
    /// The number of malformed packets and tables.
    package var malformed = 0
    /// The number of encrypted packets, which are ignored.
    package var scrambled = 0
    /// The number of PES packets that were dropped because they are incomplete, malformed or too large.
    package var droppedPackets = 0
}

/// Divides the bytes of an MPEG transport stream into packets, and assembles the PES packets of its first program
/// (ISO/IEC 13818-1).
///
/// The results do not depend on the pieces in which the bytes arrive. Memory is bounded: a table has at most 1,024 bytes,
/// a program at most ``maximumStreamCount`` streams, and each stream at most one PES packet of
/// ``maximumElementaryPacketSize``.
struct TransportStreamReader: Sendable {
    /// A result, in the order of the bytes.
    enum Output: Sendable {
        /// The streams of the program are known, or others than before.
        case program([ElementaryStream])
        /// A PES packet is complete.
        case packet(ElementaryPacket)
        /// A section of a stream with splice messages (SCTE 35) is complete.
        case splice([UInt8])
    }

    /// The size of a transport packet in bytes.
    static let packetSize = 188
    /// The maximum number of streams of a program. Further ones are ignored.
    static let maximumStreamCount = 32
    /// The maximum size of a PES packet in bytes. A larger one is dropped.
    static let maximumElementaryPacketSize = 4 << 20

    private static let syncByte: UInt8 = 0x47
    private static let paddingPID: UInt16 = 0x1FFF

    /// The bytes that were received and do not make a packet yet.
    private var remainder: [UInt8] = []
    private var isSynchronized = false
    private var associationTable = TableAssembly()
    private var programTable = TableAssembly()
    /// The number of the program, and the identifier of its table; nil before they are known.
    private var program: (number: UInt16, pid: UInt16)?
    private var streams: [Assembly] = []

    /// The counters.
    private(set) var statistics = TransportStreamStatistics()

    /// Processes bytes.
    mutating func receive(_ bytes: Span<UInt8>, _ emit: (Output) -> Void) {
        if remainder.isEmpty {
            let end = consume(bytes, emit)
            if end < bytes.count { remainder.append(contentsOf: bytes.extracting(end..<bytes.count)) }
        } else {
            var joined: [UInt8] = []
            swap(&joined, &remainder)
            joined.append(contentsOf: bytes)
            let end = consume(joined.span, emit)
            remainder = Array(joined[end...])
        }
    }

    /// Completes the last packet of each stream, whose end only the next packet shows.
    mutating func finish(_ emit: (Output) -> Void) {
        for index in streams.indices where !streams[index].hasSections { complete(index, emit) }
    }

    /// Processes the packets at the beginning of the bytes. Returns the number of bytes that were used.
    private mutating func consume(_ bytes: Span<UInt8>, _ emit: (Output) -> Void) -> Int {
        var position = 0
        while true {
            if !isSynchronized {
                while position < bytes.count, bytes[position] != Self.syncByte { position += 1 }
                // The byte occurs in media, too, so that the next packet must begin with it as well.
                guard position + Self.packetSize < bytes.count else { return position }
                guard bytes[position + Self.packetSize] == Self.syncByte else {
                    position += 1
                    continue
                }
                isSynchronized = true
            }
            guard position + Self.packetSize <= bytes.count else { return position }
            guard bytes[position] == Self.syncByte else {
                isSynchronized = false
                statistics.synchronizationLosses += 1
                for index in streams.indices { streams[index].noteLoss() }
                continue
            }
            handle(bytes.extracting(position..<position + Self.packetSize), emit)
            position += Self.packetSize
        }
    }

    // MARK: Packets

    private mutating func handle(_ packet: Span<UInt8>, _ emit: (Output) -> Void) {
        let pid = UInt16(packet[1] & 0x1F) << 8 | UInt16(packet[2])
        guard pid != Self.paddingPID else { return }
        statistics.packets += 1
        let hasError = packet[1] & 0x80 != 0
        let control = packet[3] >> 4 & 3
        let hasAdaptation = control & 2 != 0
        guard !hasError, control != 0, !hasAdaptation || packet[4] <= 183 else {
            statistics.malformed += 1
            return
        }
        let start = hasAdaptation ? 5 + Int(packet[4]) : 4
        guard control & 1 != 0, start < packet.count else { return }
        guard packet[3] >> 6 == 0 else {
            statistics.scrambled += 1
            return
        }
        let isAnnounced = hasAdaptation && packet[4] > 0 && packet[5] & 0x80 != 0
        let part = Part(
            counter: packet[3] & 0x0F, isBeginning: packet[1] & 0x40 != 0, isDiscontinuity: isAnnounced)
        let payload = packet.extracting(start..<packet.count)
        if pid == 0 {
            handleTable(payload, part, \.associationTable) { reader, section in reader.readAssociations(section) }
        } else if pid == program?.pid {
            handleTable(payload, part, \.programTable) { reader, section in reader.readProgram(section, emit) }
        } else if let index = streams.firstIndex(where: { $0.stream.pid == pid }) {
            if streams[index].hasSections {
                handleSplices(payload, part, index, emit)
            } else {
                handleMedia(payload, part, index, emit)
            }
        }
    }

    /// The header of a transport packet.
    private struct Part {
        let counter: UInt8
        let isBeginning: Bool
        /// Whether the packet announces that the counter does not continue.
        let isDiscontinuity: Bool
    }

    /// The continuity counter of packets with one identifier.
    private struct Continuity {
        enum Step { case next, duplicate, gap }

        private var last: UInt8?
        private var isRepeated = false

        /// A packet may be sent twice, with the same counter (section 2.4.3.3).
        mutating func step(_ part: Part) -> Step {
            let before = last
            last = part.counter
            guard let before, !part.isDiscontinuity else { return .next }
            if part.counter == before, !isRepeated {
                isRepeated = true
                return .duplicate
            }
            isRepeated = false
            return part.counter == (before + 1) & 0x0F ? .next : .gap
        }
    }

    // MARK: Tables

    /// The sections of a table (section 2.4.4), of which the last complete one is kept, because tables are repeated.
    private struct TableAssembly {
        static let maximumSize = 1_024

        var continuity = Continuity()
        var bytes: [UInt8] = []
        var isOpen = false
        var last: [UInt8] = []

        mutating func reset() { (bytes, isOpen) = ([], false) }
    }

    private mutating func handleTable(
        _ payload: Span<UInt8>, _ part: Part, _ table: WritableKeyPath<Self, TableAssembly>,
        _ read: (inout Self, [UInt8]) -> Bool
    ) {
        switch self[keyPath: table].continuity.step(part) {
        case .duplicate: return
        case .gap:
            statistics.gaps += 1
            self[keyPath: table].reset()
        case .next: break
        }
        var rest = 0
        if part.isBeginning {
            let pointer = Int(payload[0])
            guard pointer + 1 <= payload.count else {
                statistics.malformed += 1
                return self[keyPath: table].reset()
            }
            if self[keyPath: table].isOpen {
                self[keyPath: table].bytes.append(contentsOf: payload.extracting(1..<pointer + 1))
                takeSections(table, read)
            }
            (self[keyPath: table].bytes, self[keyPath: table].isOpen) = ([], true)
            rest = pointer + 1
        }
        guard self[keyPath: table].isOpen else { return }
        self[keyPath: table].bytes.append(contentsOf: payload.extracting(rest..<payload.count))
        takeSections(table, read)
    }

    private mutating func takeSections(
        _ table: WritableKeyPath<Self, TableAssembly>, _ read: (inout Self, [UInt8]) -> Bool
    ) {
        while self[keyPath: table].isOpen, self[keyPath: table].bytes.count >= 3 {
            let bytes = self[keyPath: table].bytes
            // Padding follows the last section.
            guard bytes[0] != 0xFF else { return self[keyPath: table].reset() }
            let size = 3 + (Int(bytes[1] & 0x0F) << 8 | Int(bytes[2]))
            guard size <= TableAssembly.maximumSize else {
                statistics.malformed += 1
                return self[keyPath: table].reset()
            }
            guard bytes.count >= size else { return }
            self[keyPath: table].bytes.removeFirst(size)
            let section = Array(bytes[..<size])
            guard section != self[keyPath: table].last else { continue }
            // The syntax bit, a checksum of zero over all bytes, and the bit of a table that is valid now.
            guard size >= 12, section[1] & 0x80 != 0, CyclicRedundancyCheck.value(of: section) == 0 else {
                statistics.malformed += 1
                continue
            }
            if section[5] & 1 != 0, read(&self, section) { self[keyPath: table].last = section }
        }
    }

    /// Reads the program association table (section 2.4.4.3). Returns false for another table.
    private mutating func readAssociations(_ section: [UInt8]) -> Bool {
        guard section[0] == 0 else { return false }
        for offset in stride(from: 8, to: section.count - 7, by: 4) {
            let number = UInt16(section[offset]) << 8 | UInt16(section[offset + 1])
            let pid = UInt16(section[offset + 2] & 0x1F) << 8 | UInt16(section[offset + 3])
            // Zero is the network table. The identifiers 0 to 15 and that of padding are reserved.
            guard number != 0, pid >= 16, pid != Self.paddingPID else { continue }
            if program?.number != number || program?.pid != pid {
                program = (number, pid)
                programTable = TableAssembly()
            }
            return true
        }
        return true
    }

    /// Reads the program map table (section 2.4.4.9). Returns false for another table or program.
    private mutating func readProgram(_ section: [UInt8], _ emit: (Output) -> Void) -> Bool {
        let number = UInt16(section[3]) << 8 | UInt16(section[4])
        guard section[0] == 2, number == program?.number else { return false }
        let end = section.count - 4
        var offset = 12 + (Int(section[10] & 0x0F) << 8 | Int(section[11]))
        var found: [ElementaryStream] = []
        while offset + 5 <= end, found.count < Self.maximumStreamCount {
            let pid = UInt16(section[offset + 1] & 0x1F) << 8 | UInt16(section[offset + 2])
            let next = offset + 5 + (Int(section[offset + 3] & 0x0F) << 8 | Int(section[offset + 4]))
            guard next <= end else {
                statistics.malformed += 1
                break
            }
            if pid >= 16, pid != Self.paddingPID, pid != program?.pid, !found.contains(where: { $0.pid == pid }) {
                found.append(
                    ElementaryStream(pid: pid, type: section[offset], descriptors: Array(section[offset + 5..<next])))
            }
            offset = next
        }
        guard found != streams.map(\.stream) else { return true }
        for index in streams.indices where !found.contains(streams[index].stream) && !streams[index].hasSections {
            complete(index, emit)
        }
        streams = found.map { stream in
            streams.first { $0.stream == stream } ?? Assembly(stream)
        }
        emit(.program(found))
        return true
    }

    // MARK: Media

    /// The PES packet of a stream that is being assembled.
    private struct Assembly {
        let stream: ElementaryStream
        var continuity = Continuity()
        var bytes: [UInt8] = []
        var isOpen = false
        /// Whether a part of the packet is missing.
        var isDamaged = false
        /// Whether bytes were lost since the last complete packet.
        var followsLoss = false
        /// The size of the last packet, which is usually similar to the next one's.
        var lastSize = 0

        init(_ stream: ElementaryStream) { self.stream = stream }

        /// Whether the stream has sections with splice messages, and no PES packets (SCTE 35, section 8.1).
        var hasSections: Bool { stream.type == 0x86 }

        mutating func noteLoss() {
            followsLoss = true
            if isOpen { isDamaged = true }
        }
    }

    private mutating func handleSplices(
        _ payload: Span<UInt8>, _ part: Part, _ index: Int, _ emit: (Output) -> Void
    ) {
        switch streams[index].continuity.step(part) {
        case .duplicate: return
        case .gap:
            statistics.gaps += 1
            (streams[index].bytes, streams[index].isOpen) = ([], false)
        case .next: break
        }
        var rest = 0
        if part.isBeginning {
            let pointer = Int(payload[0])
            guard pointer + 1 <= payload.count else {
                statistics.malformed += 1
                return (streams[index].bytes, streams[index].isOpen) = ([], false)
            }
            if streams[index].isOpen {
                streams[index].bytes.append(contentsOf: payload.extracting(1..<pointer + 1))
                takeSplices(index, emit)
            }
            (streams[index].bytes, streams[index].isOpen) = ([], true)
            rest = pointer + 1
        }
        guard streams[index].isOpen else { return }
        streams[index].bytes.append(contentsOf: payload.extracting(rest..<payload.count))
        takeSplices(index, emit)
    }

    /// Takes the complete sections. A section has at most 4,096 bytes, so that the bytes are bounded.
    private mutating func takeSplices(_ index: Int, _ emit: (Output) -> Void) {
        while streams[index].isOpen, streams[index].bytes.count >= 3 {
            let bytes = streams[index].bytes
            // Padding follows the last section.
            guard bytes[0] != 0xFF else { return (streams[index].bytes, streams[index].isOpen) = ([], false) }
            let size = 3 + (Int(bytes[1] & 0x0F) << 8 | Int(bytes[2]))
            guard bytes.count >= size else { return }
            streams[index].bytes.removeFirst(size)
            emit(.splice(Array(bytes[..<size])))
        }
    }

    private mutating func handleMedia(
        _ payload: Span<UInt8>, _ part: Part, _ index: Int, _ emit: (Output) -> Void
    ) {
        switch streams[index].continuity.step(part) {
        case .duplicate: return
        case .gap:
            statistics.gaps += 1
            streams[index].noteLoss()
        case .next: break
        }
        if part.isBeginning {
            complete(index, emit)
            streams[index].isOpen = true
            streams[index].bytes.reserveCapacity(min(streams[index].lastSize + 1_024, 1 << 18))
        }
        guard streams[index].isOpen else { return }
        guard streams[index].bytes.count + payload.count <= Self.maximumElementaryPacketSize else {
            statistics.droppedPackets += 1
            (streams[index].bytes, streams[index].isOpen) = ([], false)
            return streams[index].noteLoss()
        }
        streams[index].bytes.append(contentsOf: payload)
        let bytes = streams[index].bytes
        guard bytes.count >= 6 else { return }
        // A length of zero means that the packet ends before the next one.
        let length = Int(bytes[4]) << 8 | Int(bytes[5])
        if length > 0, bytes.count >= 6 + length { complete(index, emit) }
    }

    private mutating func complete(_ index: Int, _ emit: (Output) -> Void) {
        guard streams[index].isOpen else { return }
        var bytes: [UInt8] = []
        swap(&bytes, &streams[index].bytes)
        let isDamaged = streams[index].isDamaged
        (streams[index].isOpen, streams[index].isDamaged, streams[index].lastSize) = (false, false, bytes.count)
        guard !isDamaged, let packet = packet(bytes, of: streams[index]) else {
            statistics.droppedPackets += 1
            return streams[index].noteLoss()
        }
        streams[index].followsLoss = false
        emit(.packet(packet))
    }

    /// Reads the header of a packet. Returns nil if it is malformed or truncated.
    private func packet(_ bytes: [UInt8], of assembly: Assembly) -> ElementaryPacket? {
        guard bytes.count >= 9, bytes[0] == 0, bytes[1] == 0, bytes[2] == 1, bytes[6] & 0xC0 == 0x80 else { return nil }
        let length = Int(bytes[4]) << 8 | Int(bytes[5])
        guard length == 0 || bytes.count >= 6 + length else { return nil }
        let payload = 9 + Int(bytes[8])
        let end = length == 0 ? bytes.count : 6 + length
        guard payload <= end else { return nil }
        let flags = bytes[7] >> 6
        let presentation = flags & 2 != 0 && bytes[8] >= 5 ? Self.time(bytes[9..<14]) : nil
        let decoding = flags == 3 && bytes[8] >= 10 ? Self.time(bytes[14..<19]) : nil
        return ElementaryPacket(
            pid: assembly.stream.pid, bytes: end == bytes.count ? bytes : Array(bytes[..<end]), payloadStart: payload,
            presentationTime: presentation, decodingTime: decoding, followsLoss: assembly.followsLoss)
    }

    /// Reads 33 bits in five bytes with marker bits (section 2.4.3.7).
    private static func time(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        let part = Array(bytes).map { UInt64($0) }
        return (part[0] >> 1 & 7) << 30 | part[1] << 22 | (part[2] >> 1) << 15 | part[3] << 7 | part[4] >> 1
    }
}

/// The checksum of tables (ISO/IEC 13818-1, annex A).
enum CyclicRedundancyCheck {
    /// Returns the checksum; zero if the bytes end with their own.
    static func value(of bytes: some Sequence<UInt8>) -> UInt32 {
        var value: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            value ^= UInt32(byte) << 24
            for _ in 0..<8 { value = value & 0x8000_0000 == 0 ? value << 1 : value << 1 ^ 0x04C1_1DB7 }
        }
        return value
    }
}
