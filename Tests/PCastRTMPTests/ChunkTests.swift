import PCastRTMP
import PCastTestSupport
import Testing

/// Writes chunks of every type, as a sender that compresses headers does.
struct CompressingChunkWriter {
    var chunkSize: Int
    /// Whether chunks of type 3 repeat an extended timestamp, as the specification demands.
    var repeatsExtendedTimestamp = true
    private var last: [UInt32: (message: RTMPMessage, time: UInt32)] = [:]
    private(set) var formats: Set<UInt8> = []

    init(chunkSize: Int = 128) { self.chunkSize = chunkSize }

    mutating func write(_ message: RTMPMessage, chunkStream id: UInt32, into bytes: inout [UInt8]) {
        let previous = last[id]
        var format: UInt8 = 0
        var time = message.timestamp
        if let previous, previous.message.streamID == message.streamID {
            time = message.timestamp &- previous.message.timestamp
            format = 1
            if previous.message.type == message.type, previous.message.payload.count == message.payload.count {
                format = time == previous.time ? 3 : 2
            }
        }
        formats.insert(format)
        last[id] = (message, time)
        let isExtended = time >= 0xFF_FFFF
        bytes += basicHeader(format, id)
        if format < 3 { bytes += bigEndian(isExtended ? 0xFF_FFFF : time, 3) }
        if format < 2 { bytes += bigEndian(UInt32(message.payload.count), 3) + [message.type.rawValue] }
        if format == 0 { bytes += bigEndian(message.streamID.byteSwapped, 4) }
        if isExtended, format < 3 || repeatsExtendedTimestamp { bytes += bigEndian(time, 4) }
        for start in stride(from: 0, to: message.payload.count, by: chunkSize) {
            if start > 0 {
                bytes += basicHeader(3, id)
                if isExtended, repeatsExtendedTimestamp { bytes += bigEndian(time, 4) }
            }
            bytes += message.payload[start..<min(start + chunkSize, message.payload.count)]
        }
    }

    func basicHeader(_ format: UInt8, _ id: UInt32) -> [UInt8] {
        switch id {
        case 2..<64: [format << 6 | UInt8(id)]
        case 64..<320: [format << 6, UInt8(id - 64)]
        default: [format << 6 | 1, UInt8((id - 64) & 255), UInt8((id - 64) >> 8)]
        }
    }

    func bigEndian(_ value: UInt32, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> UInt32(8 * $0)) }
    }
}

@Suite struct ChunkTests {
    private func message(_ size: Int, _ timestamp: UInt32, type: UInt8 = 9, stream: UInt32 = 1) -> RTMPMessage {
        RTMPMessage(
            type: RTMPMessageType(rawValue: type), streamID: stream, timestamp: timestamp,
            payload: (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ size) })
    }

    /// Reads all messages of pieces.
    private func read(_ pieces: [[UInt8]], limits: RTMPLimits = RTMPLimits()) throws(RTMPError) -> [RTMPMessage] {
        var reader = RTMPChunkReader(limits: limits)
        var messages: [RTMPMessage] = []
        for piece in pieces {
            var position = 0
            while let message = try reader.next(piece.span, from: &position) { messages.append(message) }
            #expect(position == piece.count)
        }
        return messages
    }

    /// Messages whose headers need each type of chunk, with timestamps that become extended and wrap.
    private var messages: [RTMPMessage] {
        let times: [UInt32] = [0, 40, 80, 120, 0xFF_FFFE, 0xFF_FFFF, 0x100_0027, 0x7FFF_FFFF, 0xFFFF_FFF0, 0x18, 0x40]
        return times.flatMap { [message(300, $0), message(300, $0), message(10, $0), message(0, $0)] }
    }

    @Test("messages are read as they were written, with each type of chunk", arguments: [2, 63, 64, 319, 320, 65_599])
    func roundTrip(chunkStream: UInt32) throws {
        var writer = CompressingChunkWriter()
        var bytes: [UInt8] = []
        for message in messages { writer.write(message, chunkStream: chunkStream, into: &bytes) }
        #expect(try read([bytes]) == messages)
        let one = (0..<4).map { message(20, UInt32($0) * 40) }
        bytes = []
        for message in one { writer.write(message, chunkStream: chunkStream, into: &bytes) }
        #expect(writer.formats == [0, 1, 2, 3])
    }

    @Test("messages are the same wherever the bytes are split")
    func everySplit() throws {
        var writer = CompressingChunkWriter(chunkSize: 40)
        var bytes: [UInt8] = [2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, 40]
        let sent = [message(90, 0xFF_FFF0), message(90, 0x100_0010), message(41, 0x200_0020), message(3, 0x200_0020)]
        for message in sent { writer.write(message, chunkStream: 70, into: &bytes) }
        for split in bytes.indices {
            #expect(try read([Array(bytes[..<split]), Array(bytes[split...])]) == sent, "split at \(split)")
        }
        #expect(try read(bytes.map { [$0] }) == sent)
    }

    @Test("an extended timestamp that continuations omit is not taken from the payload", arguments: [1, 2, 3, 5, 128])
    func omittedExtendedTimestamp(chunkSize: Int) throws {
        var writer = CompressingChunkWriter(chunkSize: chunkSize)
        writer.repeatsExtendedTimestamp = false
        var bytes: [UInt8] = [2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, UInt8(chunkSize)]
        let sent = [message(9, 0x100_0000), message(130, 0x200_0000), message(9, 0x200_0040), message(7, 0x200_0080)]
        for message in sent { writer.write(message, chunkStream: 4, into: &bytes) }
        #expect(try read([bytes]) == sent)
        #expect(try read(bytes.map { [$0] }) == sent)
    }

    @Test("messages of several chunk streams are interleaved")
    func interleaved() throws {
        let first = message(200, 10)
        let second = message(130, 20, type: 8)
        var bytes: [UInt8] = []
        var a: [UInt8] = []
        var b: [UInt8] = []
        RTMPChunkWriter().write(first, chunkStream: 4, into: &a)
        RTMPChunkWriter().write(second, chunkStream: 5, into: &b)
        bytes = Array(a[..<140]) + b + a[140...]
        #expect(try read([bytes]) == [second, first])
    }

    @Test("an aborted message is discarded, and the chunk stream can be used again")
    func abort() throws {
        var bytes: [UInt8] = []
        var first: [UInt8] = []
        RTMPChunkWriter().write(message(200, 10), chunkStream: 4, into: &first)
        bytes += first[..<140]
        RTMPChunkWriter().write(RTMPMessage(type: .abort, payload: [0, 0, 0, 4]), chunkStream: 2, into: &bytes)
        RTMPChunkWriter().write(message(30, 20), chunkStream: 4, into: &bytes)
        #expect(try read([bytes]) == [message(30, 20)])
    }

    @Test("the sender's chunk size applies to the following chunks", arguments: [1, 4_096, 0x7FFF_FFFF])
    func chunkSize(size: UInt32) throws {
        var writer = CompressingChunkWriter()
        var bytes: [UInt8] = []
        writer.write(
            RTMPMessage(type: .setChunkSize, payload: writer.bigEndian(size, 4)), chunkStream: 2, into: &bytes)
        writer.chunkSize = Int(size)
        writer.write(message(5_000, 40), chunkStream: 4, into: &bytes)
        #expect(try read([bytes]) == [message(5_000, 40)])
    }

    @Test("a first chunk of type 1 is accepted, as librtmp sends it")
    func firstChunkOfType1() throws {
        let bytes: [UInt8] = [0x44, 0, 0, 40, 0, 0, 2, 9, 0xAB, 0xCD]
        #expect(try read([bytes]) == [RTMPMessage(type: .video, timestamp: 40, payload: [0xAB, 0xCD])])
    }

    // MARK: Violations

    private func error(_ bytes: [UInt8], limits: RTMPLimits = RTMPLimits()) -> RTMPError? {
        do throws(RTMPError) {
            _ = try read([bytes], limits: limits)
            return nil
        } catch { return error }
    }

    private func written(_ message: RTMPMessage, chunkStream: UInt8 = 2) -> [UInt8] {
        var bytes: [UInt8] = []
        RTMPChunkWriter().write(message, chunkStream: chunkStream, into: &bytes)
        return bytes
    }

    @Test("an invalid chunk size is an error", arguments: [0, 0x8000_0000, 0xFFFF_FFFF])
    func invalidChunkSize(size: UInt32) {
        let payload = CompressingChunkWriter().bigEndian(size, 4)
        #expect(error(written(RTMPMessage(type: .setChunkSize, payload: payload))) == .invalidChunkSize(size))
    }

    @Test("a truncated control message is an error", arguments: [1, 2] as [UInt8])
    func truncatedControl(type: UInt8) {
        let message = RTMPMessage(type: RTMPMessageType(rawValue: type), payload: [0, 0, 1])
        #expect(error(written(message)) == .truncatedControlMessage(type: type))
    }

    @Test("a chunk without a preceding header is an error", arguments: [0x84, 0xC4] as [UInt8])
    func missingHeader(first: UInt8) {
        #expect(error([first, 0, 0, 0]) == .missingHeader(chunkStream: 4))
    }

    @Test("a header within a message is an error")
    func interrupted() {
        let bytes = written(message(200, 0), chunkStream: 4)
        #expect(error(Array(bytes[..<140]) + bytes) == .interruptedMessage(chunkStream: 4))
    }

    @Test("a message that is too large is an error when its header arrives")
    func tooLarge() {
        let header: [UInt8] = [4, 0, 0, 0, 0x50, 0, 0, 9, 1, 0, 0, 0]
        #expect(error(header) == .messageTooLarge(type: 9, size: 0x50_0000, maximum: 4 * 1_024 * 1_024))
        let command: [UInt8] = [3, 0, 0, 0, 0x04, 0, 1, 20, 0, 0, 0, 0]
        #expect(error(command) == .messageTooLarge(type: 20, size: 0x4_0001, maximum: 256 * 1_024))
    }

    @Test("too many chunk streams are an error")
    func tooManyChunkStreams() {
        let headers: [[UInt8]] = (0..<65).map { [0, $0, 0, 0, 0, 0, 0, 0, 9, 1, 0, 0, 0] }
        let bytes = Array(headers.joined())
        #expect(error(Array(bytes.dropLast(13))) == nil)
        #expect(error(bytes) == .tooManyChunkStreams(maximum: 64))
    }

    @Test("the incomplete messages of all chunk streams are limited together")
    func tooManyIncompleteBytes() {
        var limits = RTMPLimits()
        limits.incompleteSize = 1_000
        let parts = (4..<12).map { Array(written(message(200, 0), chunkStream: $0)[..<140]) }
        #expect(error(Array(parts.prefix(7).joined()), limits: limits) == nil)
        #expect(error(Array(parts.joined()), limits: limits) == .tooManyIncompleteBytes(maximum: 1_000))
        // Complete messages do not count.
        let complete = (4..<40).flatMap { written(message(200, 0), chunkStream: $0) }
        #expect(error(complete, limits: limits) == nil)
    }
}
