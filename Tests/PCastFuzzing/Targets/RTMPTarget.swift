import PCastCore
import PCastRTMP

/// A connection of an RTMP publisher after its handshake: commands, media and control messages in chunks. The first byte
/// determines the pieces in which the rest arrives.
enum RTMPTarget {
    private static let handshake: [UInt8] = [3] + [UInt8](repeating: 0, count: 2 * 1_536)

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(bytes)
        let size = Int(input.byte()) + 1
        let stream = input.rest()
        let whole = try events(stream, size: max(stream.count, 1))
        let pieces = try events(stream, size: size)
        try check(whole == pieces, "events that depend on the pieces of \(size) bytes")
        return whole.contains { if case .publishRequested = $0 { true } else { false } }
    }

    private static func events(_ bytes: [UInt8], size: Int) throws(BrokenInvariant) -> [RTMPServerEvent] {
        let start = Instant(nanoseconds: 0)
        // The limit of the output depends on when the driver takes it.
        var configuration = RTMPServerConfiguration()
        configuration.maximumOutput = 16 * 1_024 * 1_024
        var session = RTMPServerSession(configuration: configuration, seed: 1, at: start)
        session.receive(handshake.span, at: start)
        var events: [RTMPServerEvent] = []
        var outputSize = session.takeOutput().count
        var position = 0
        while position < bytes.count {
            let end = min(position + size, bytes.count)
            session.receive(bytes.span.extracting(position..<end), at: start)
            position = end
            while let event = session.poll() {
                if case .closed? = events.last {
                    throw BrokenInvariant(description: "an event after the end: \(event)")
                }
                events.append(event)
                if case .publishRequested = event { session.acceptPublishing(at: start) }
                if case .accessUnit(let unit) = event { try checkUnit(unit) }
            }
            outputSize += session.takeOutput().count
        }
        // A response is at most some hundred bytes, and each needs a chunk.
        try check(outputSize <= 8_192 + 1_024 * bytes.count, "\(outputSize) bytes of output")
        try check(
            session.isClosed == (events.last.map { if case .closed = $0 { true } else { false } } ?? false),
            "an end without an event")
        return events
    }

    static func checkUnit(_ unit: RTMPAccessUnit) throws(BrokenInvariant) {
        try check(!unit.bytes.isEmpty, "an empty frame")
        try check(
            (unit.presentationTime - unit.decodingTime).magnitude <= .milliseconds(1 << 23), "a frame far away")
        if let frame = unit.encodedFrame(captureTime: nil) {
            try check(frame.bytes == unit.bytes, "a frame that changed")
        }
        if unit.codec == .av1 { try checkAV1(unit) }
    }

    /// Checks that packetizers find all units of a temporal unit.
    private static func checkAV1(_ unit: RTMPAccessUnit) throws(BrokenInvariant) {
        let types = unit.bytes.withByteView { view -> [UInt8]? in
            var reader = AV1UnitReader(view)
            var types: [UInt8] = []
            while let unit = reader.next() { types.append(unit.type) }
            return reader.isMalformed ? nil : types
        }
        guard let types else { throw BrokenInvariant(description: "units of AV1 that cannot be found") }
        try check(!types.contains(AV1Unit.temporalDelimiter), "a temporal delimiter")
        try check(
            !unit.isKeyFrame || types.contains(AV1Unit.frame) || types.contains(AV1Unit.frameHeader),
            "a key frame without a frame")
    }

    /// Returns messages as chunks, after `connect` and `publish`.
    private static func connection(_ messages: [RTMPMessage]) -> [UInt8] {
        var bytes: [UInt8] = []
        var writer = RTMPChunkWriter()
        let connect = RTMPCommand(
            "connect", transaction: 1, [.object(["app": .string("ingest"), "capsEx": .number(15)])])
        let create = RTMPCommand("createStream", transaction: 2, [.null])
        let publish = RTMPCommand("publish", transaction: 3, [.null, .string("key;capabilities=a"), .string("live")])
        let size = RTMPMessage(type: .setChunkSize, payload: [0, 0, 16, 0])
        let commands = [
            RTMPMessage(type: .command, payload: connect.payload), size,
            RTMPMessage(type: .command, payload: create.payload),
            RTMPMessage(type: .commandWithFormat, streamID: 1, payload: [0] + publish.payload),
        ]
        for (index, message) in (commands + messages).enumerated() {
            let isControl = message.type.rawValue < 8
            writer.write(message, chunkStream: isControl ? 2 : index < commands.count ? 3 : 4, into: &bytes)
            if message == size { writer.chunkSize = 4_096 }
        }
        return bytes
    }

    private static func media(_ examples: [[UInt8]]) -> [RTMPMessage] {
        examples.enumerated().map { index, example in
            RTMPMessage(
                type: example[0] & 1 == 0 ? .video : .audio, streamID: 1, timestamp: UInt32(index) * 0x7F_FFFF,
                payload: Array(example.dropFirst()))
        }
    }

    static let corpus: [[UInt8]] = [
        [255] + connection(media(RTMPMediaTarget.examples)),
        [7]
            + connection([
                RTMPMessage(type: .userControl, payload: [0, 6, 1, 2, 3, 4]),
                RTMPMessage(type: .windowAcknowledgementSize, payload: [0, 0, 0, 9]),
                RTMPMessage(type: .setPeerBandwidth, payload: [0, 0, 0, 9, 2]),
                RTMPMessage(type: .abort, payload: [0, 0, 0, 4]),
                RTMPMessage(
                    type: .data, streamID: 1,
                    payload: AMF0Writer.bytes([
                        .string("@setDataFrame"), .string("onMetaData"),
                        .ecmaArray(["width": .number(640), "videoTrackIdInfoMap": .object(["1": .object([:])])]),
                    ])),
                RTMPMessage(
                    type: .aggregate, streamID: 1, timestamp: 0xFFFF_FFF0,
                    payload: [8, 0, 0, 4, 0, 0, 9, 0, 0, 0, 1, 0xAF, 0, 0x11, 0x90, 0, 0, 0, 15]),
                RTMPMessage(
                    type: .command, payload: RTMPCommand("deleteStream", transaction: 4, [.null, .number(1)]).payload),
            ]),
        // Chunks of the types 1 to 3, and an extended timestamp.
        [0] + connection([]) + [0x44, 0, 0, 40, 0, 0, 2, 8, 0xAF, 1, 0x84, 0, 0, 40, 0xAF, 1, 0xC4, 0xAF, 1]
            + [5, 0xFF, 0xFF, 0xFF, 0, 0, 1, 9, 1, 0, 0, 0, 1, 0, 0, 0, 0x17],
    ]
}

/// Audio and video messages of a published stream. A chunk of the input is a message. Its first byte has the kind in
/// the lowest bit, and the step of the timestamp in the others.
enum RTMPMediaTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(bytes)
        var demuxer = RTMPMediaDemuxer(
            codecs: [.h264, .hevc, .av1, .vp9, .vp8, .aac, .opus, .mp3, .flac, .ac3, .eac3])
        var timestamp: UInt32 = 0
        var outputs: [RTMPMediaDemuxer.Output] = []
        var size = 0
        while !input.isAtEnd {
            let message = input.chunk()
            guard let first = message.first else { continue }
            timestamp &+= UInt32(first >> 1) << 25
            size += message.count
            demuxer.handle(
                Array(message.dropFirst()), first & 1 == 0 ? .video : .audio, timestamp: timestamp
            ) { outputs.append($0) }
        }
        var hasConfiguration = false
        for output in outputs {
            switch output {
            case .accessUnit(let unit): try RTMPTarget.checkUnit(unit)
            case .configuration(_, .aac(let configuration)):
                hasConfiguration = true
                try check(configuration.frameDuration > .zero, "a frame without a duration")
                try check(
                    AudioSpecificConfiguration(configuration.bytes) == configuration, "a configuration that changed")
            case .configuration: hasConfiguration = true
            case .ended, .warning: break
            }
        }
        // A message has at most one result for each of its bytes.
        try check(outputs.count <= 2 * size, "\(outputs.count) results of \(size) bytes")
        return hasConfiguration
    }

    /// Messages with their kind in the first byte.
    static let examples: [[UInt8]] = [
        [0, 0x17, 0, 0, 0, 0] + avcRecord,
        [0, 0x17, 1, 0, 0, 80] + unit,
        [0, 0x27, 1, 0xFF, 0xFF, 0xF0] + unit + unit,
        [1, 0xAF, 0] + [0x11, 0x90, 0x56, 0xE5, 0],
        [1, 0xAF, 1, 1, 2, 3],
        // AAC with parametric stereo, a rate of 24 bits, and channels of a program.
        [1, 0xAF, 0, 0xEB, 0x09, 0x88, 0],
        [1, 0xAF, 0, 0x17, 0x80, 0x5D, 0xC0, 0x10],
        [1, 0xAF, 0, 0x11, 0x80, 0x04, 0xC8, 0x44, 0, 0x20, 0, 0],
        [1, 0x90] + opus + Array("OpusHead".utf8) + [1, 2, 0x38, 1, 0x80, 0xBB, 0, 0, 0, 0, 0],
        [1, 0x91] + opus + [0xFC, 1, 2],
        [1, 0x95, 0x11] + opus + [0, 0, 0, 1, 0xFC, 1, 0, 0, 1, 0xFC],
        [0, 0x90] + hevc + hevcRecord,
        [0, 0x91] + hevc + [0, 0, 40, 0, 0, 0, 3, 0x26, 1, 9],
        [0, 0x97, 2, 7, 0xA1, 0x20, 1] + vp9 + [0x82, 1],
        [0, 0xA3] + vp9 + [0x86, 1],
        [0, 0x90] + av1 + [0x81, 0, 0x0C, 0] + sequenceHeader,
        [0, 0x91] + av1 + [0x12, 0, 0x32, 3, 0x10, 1, 2, 0x1A, 1, 0x30],
        [0, 0xA3] + av1 + sequenceHeader + [0x30, 0x10, 1],
        [0, 0x96, 0x11] + av1 + [0, 0, 0, 4, 0x32, 2, 0x30, 1, 3, 0, 0, 3, 0x36, 0, 0],
        [0, 0x96, 0x21] + avc + [1, 0, 0, 10, 0, 0, 0] + Array(unit.prefix(7)) + Array("vp08".utf8) + [2, 0, 0, 1, 9],
    ]
    static let corpus: [[UInt8]] =
        [FuzzInput.chunks(examples)]
        + examples.map { FuzzInput.chunks([$0]) }
        .filter { [0x17, 0x90, 0xAF].contains($0[3]) && $0[4] != 1 }

    private static let avc = Array("avc1".utf8)
    private static let hevc = Array("hvc1".utf8)
    private static let opus = Array("Opus".utf8)
    private static let av1 = Array("av01".utf8)
    private static let vp9 = Array("vp09".utf8)
    private static let sequenceHeader = hexadecimal("0a0b02000004957fbc02f80040")
    private static let avcRecord = hexadecimal("0142c01fffe100076742c01fda028001000468ce3c80")
    private static let hevcRecord =
        hexadecimal("0101600000009000000000001ef000fcfdf8f800000f03")
        + hexadecimal("200001000340010c2100010003420101a200010003440101")
    private static let unit: [UInt8] = [0, 0, 0, 5, 0x65, 0x88, 0x84, 1, 2]
}

/// Values of the Action Message Format 0.
enum AMF0Target {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var reader = AMF0Reader(bytes)
        guard let values = try? reader.values() else { return false }
        // Invalid UTF-8 is replaced, so that texts may become longer once. A second time, nothing changes.
        let written = AMF0Writer.bytes(values)
        try check(written.count <= 4 * bytes.count + 64, "\(written.count) bytes from \(bytes.count)")
        var again = AMF0Reader(written)
        guard let same = try? again.values() else {
            throw BrokenInvariant(description: "written values that cannot be read: \(values)")
        }
        try check(AMF0Writer.bytes(same) == written, "values that changed: \(values)")
        return true
    }

    static let corpus: [[UInt8]] = [
        AMF0Writer.bytes([
            .string("connect"), .number(1),
            .object(["app": .string("ingest"), "fourCcList": .strictArray([.string("hvc1")]), "audio": .boolean(true)]),
        ]),
        AMF0Writer.bytes([
            .string("onMetaData"), .ecmaArray(["a": .date(milliseconds: 1e12, timeZone: 0), "b": .undefined]), .null,
        ]),
        [12, 0, 0, 0, 2, 0xC3, 0xA9, 16, 0, 1, 0x63, 0, 1, 0x61, 5, 0, 0, 9],
    ]
}
