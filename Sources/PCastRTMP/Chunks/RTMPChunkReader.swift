import PCastCore

/// Reads messages from chunks that arrive in pieces of any size (RTMP 1.0, section 5.3). It processes Set Chunk Size and
/// Abort Message itself.
///
/// Memory is limited by `RTMPLimits`: messages are stored as they arrive, and a size that a header announces reserves
/// nothing.
package struct RTMPChunkReader: Sendable {
    /// The state of a chunk stream, from which later headers omit what has not changed.
    private struct ChunkStream {
        let id: UInt32
        /// The time of the current or last message in milliseconds.
        var timestamp: UInt32 = 0
        /// The last timestamp delta; after a chunk of type 0 its timestamp (section 5.3.1.2.4).
        var delta: UInt32 = 0
        /// Whether the last timestamp or delta is in an extended timestamp field, which chunks of type 3 repeat.
        var hasExtendedTimestamp = false
        /// The size of the message in bytes.
        var length = 0
        var type = RTMPMessageType(rawValue: 0)
        var messageStreamID: UInt32 = 0
        var payload: [UInt8] = []
        /// Whether a message has begun and is not complete.
        var isIncomplete = false
    }

    /// The header of a chunk, as far as it is known.
    private enum Header {
        /// The header has at least this number of bytes.
        case needs(Int)
        case complete(ChunkHeader)
    }

    private struct ChunkHeader {
        /// The index of the chunk stream.
        let stream: Int
        /// The type of the chunk, 0 to 3.
        let format: UInt8
        /// The timestamp or delta; nil for type 3.
        let time: UInt32?
        let isExtended: Bool
        /// The offset of the fields after the basic header.
        let fields: Int
        /// The size of the header in bytes.
        let size: Int
    }

    private let limits: RTMPLimits
    private var streams: [ChunkStream] = []
    /// The index of the chunk stream whose chunk is being read; nil within a header.
    private var current: Int?
    /// The bytes of the current chunk's payload that are missing.
    private var missing = 0
    /// The bytes of an incomplete header. Before a payload, bytes that were taken for an extended timestamp.
    private var header: [UInt8] = []
    /// The size of all incomplete messages in bytes.
    private var incompleteSize = 0

    /// The maximum size of the peer's chunks in bytes, without their headers.
    package private(set) var chunkSize = 128

    /// Creates a reader at the first chunk after the handshake.
    package init(limits: RTMPLimits = RTMPLimits()) { self.limits = limits }

    /// Reads until a message is complete.
    ///
    /// - Parameters:
    ///   - input: The bytes that have arrived.
    ///   - position: The offset of the first byte that was not read, which is moved.
    /// - Returns: The message; nil after the last byte of the input.
    /// - Throws: `RTMPError` if the peer violates the protocol or a limit. The reader is then unusable.
    package mutating func next(_ input: Span<UInt8>, from position: inout Int) throws(RTMPError) -> RTMPMessage? {
        while true {
            guard let index = current else {
                guard try readHeader(input, &position) else { return nil }
                continue
            }
            try readPayload(of: index, input, &position)
            let length = streams[index].length
            if streams[index].payload.count == length {
                current = nil
                if let message = try complete(index) { return message }
            } else if missing == 0 {
                current = nil
            } else {
                return nil
            }
        }
    }

    // MARK: Headers

    /// Reads the header of a chunk. Returns false if the input has ended.
    private mutating func readHeader(_ input: Span<UInt8>, _ position: inout Int) throws(RTMPError) -> Bool {
        while true {
            switch try parseHeader() {
            case .needs(let count):
                let taken = min(count - header.count, input.count - position)
                guard taken > 0 else { return false }
                for index in position..<position + taken { header.append(input[index]) }
                position += taken
            case .complete(let chunk):
                try begin(chunk)
                header.removeFirst(chunk.size)
                return true
            }
        }
    }

    private mutating func parseHeader() throws(RTMPError) -> Header {
        guard let first = header.first else { return .needs(1) }
        let format = first >> 6
        let fields = first & 0x3F == 0 ? 2 : first & 0x3F == 1 ? 3 : 1
        let fieldsSize = [11, 7, 3, 0][Int(format)]
        guard header.count >= fields + fieldsSize else { return .needs(fields + fieldsSize) }
        let id: UInt32 =
            switch fields {
            case 1: UInt32(first & 0x3F)
            case 2: UInt32(header[1]) + 64
            default: UInt32(header[2]) << 8 + UInt32(header[1]) + 64
            }
        let stream = try index(of: id, format: format)
        guard format < 3 else { return continuation(of: stream, fields: fields) }
        let time = bigEndian24(fields)
        guard time == 0xFF_FFFF else {
            return .complete(
                ChunkHeader(
                    stream: stream, format: format, time: time, isExtended: false, fields: fields,
                    size: fields + fieldsSize))
        }
        let size = fields + fieldsSize + 4
        guard header.count >= size else { return .needs(size) }
        return .complete(
            ChunkHeader(
                stream: stream, format: format, time: bigEndian32(size - 4), isExtended: true, fields: fields,
                size: size))
    }

    /// Parses the header of a chunk of type 3. It repeats the extended timestamp of the header before (section
    /// 5.3.1.3), but some encoders omit it: then these bytes belong to the payload.
    private func continuation(of stream: Int, fields: Int) -> Header {
        let state = streams[stream]
        var size = fields
        if state.hasExtendedTimestamp {
            guard header.count >= fields + 4 else { return .needs(fields + 4) }
            if bigEndian32(fields) == state.delta { size += 4 }
        }
        return .complete(
            ChunkHeader(
                stream: stream, format: 3, time: nil, isExtended: state.hasExtendedTimestamp, fields: fields,
                size: size))
    }

    /// Returns the index of a chunk stream. The first chunk should be of type 0, but librtmp begins with type 1.
    private mutating func index(of id: UInt32, format: UInt8) throws(RTMPError) -> Int {
        if let index = streams.firstIndex(where: { $0.id == id }) { return index }
        guard format < 2 else { throw .missingHeader(chunkStream: id) }
        guard streams.count < limits.chunkStreamCount else {
            throw .tooManyChunkStreams(maximum: limits.chunkStreamCount)
        }
        streams.append(ChunkStream(id: id))
        return streams.count - 1
    }

    /// Applies a header to its chunk stream.
    private mutating func begin(_ chunk: ChunkHeader) throws(RTMPError) {
        var state = streams[chunk.stream]
        if state.isIncomplete {
            guard chunk.format == 3 else { throw .interruptedMessage(chunkStream: state.id) }
        } else {
            if let time = chunk.time { (state.delta, state.hasExtendedTimestamp) = (time, chunk.isExtended) }
            state.timestamp = chunk.format == 0 ? state.delta : state.timestamp &+ state.delta
            if chunk.format <= 1 {
                state.length = Int(bigEndian24(chunk.fields + 3))
                state.type = RTMPMessageType(rawValue: header[chunk.fields + 6])
            }
            if chunk.format == 0 {
                // The ID of the message stream is the only integer in little-endian order.
                state.messageStreamID = bigEndian32(chunk.fields + 7).byteSwapped
            }
            let maximum = limits.maximumSize(of: state.type)
            guard state.length <= maximum else {
                throw .messageTooLarge(type: state.type.rawValue, size: state.length, maximum: maximum)
            }
            state.isIncomplete = true
            streams[chunk.stream] = state
        }
        current = chunk.stream
        missing = min(chunkSize, state.length - state.payload.count)
    }

    private func bigEndian24(_ offset: Int) -> UInt32 {
        UInt32(header[offset]) << 16 | UInt32(header[offset + 1]) << 8 | UInt32(header[offset + 2])
    }

    private func bigEndian32(_ offset: Int) -> UInt32 { bigEndian24(offset) << 8 | UInt32(header[offset + 3]) }

    // MARK: Payloads

    private mutating func readPayload(
        of index: Int, _ input: Span<UInt8>, _ position: inout Int
    ) throws(RTMPError) {
        // Bytes that were taken for an extended timestamp.
        let early = min(header.count, missing)
        let taken = min(missing - early, input.count - position)
        guard early + taken > 0 else { return }
        guard incompleteSize + early + taken <= limits.incompleteSize else {
            throw .tooManyIncompleteBytes(maximum: limits.incompleteSize)
        }
        if early > 0 {
            streams[index].payload += header.prefix(early)
            header.removeFirst(early)
        }
        if taken > 0 {
            streams[index].payload.append(contentsOf: input.extracting(position..<position + taken))
            position += taken
        }
        missing -= early + taken
        incompleteSize += early + taken
    }

    /// Ends a complete message. Returns nil for a message that was processed here.
    private mutating func complete(_ index: Int) throws(RTMPError) -> RTMPMessage? {
        let state = streams[index]
        let payload = state.payload
        discard(index)
        switch state.type {
        case .setChunkSize:
            guard let size = ByteReader(payload).first32 else {
                throw .truncatedControlMessage(type: state.type.rawValue)
            }
            guard size > 0, size < 1 << 31 else { throw .invalidChunkSize(size) }
            chunkSize = Int(size)
            return nil
        case .abort:
            guard let id = ByteReader(payload).first32 else {
                throw .truncatedControlMessage(type: state.type.rawValue)
            }
            if let aborted = streams.firstIndex(where: { $0.id == id }) { discard(aborted) }
            return nil
        default:
            return RTMPMessage(
                type: state.type, streamID: state.messageStreamID, timestamp: state.timestamp, payload: payload)
        }
    }

    /// Removes the payload of a chunk stream.
    private mutating func discard(_ index: Int) {
        incompleteSize -= streams[index].payload.count
        streams[index].payload = []
        streams[index].isIncomplete = false
    }
}

extension ByteReader {
    /// The first 32 bits; nil if there are fewer.
    var first32: UInt32? {
        var reader = self
        return reader.uint32()
    }
}
