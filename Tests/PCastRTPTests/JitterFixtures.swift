import PCastCore
import PCastRTP

/// A packet on its way to a jitter buffer.
struct JitterPacket {
    var payload: [UInt8]
    var sequenceNumber: UInt16
    var timestamp: UInt32
    var marker: Bool
}

/// A sender of frames. It knows the bytes of its packets.
struct JitterSource {
    let codec: Codec
    var random: PayloadRandom
    var sequenceNumber: UInt16
    var timestamp: UInt32
    var step: UInt32
    var frames: [[UInt8]] = []

    init(_ codec: Codec, seed: UInt64 = 1, sequenceNumber: UInt16 = 100, timestamp: UInt32 = 9000) {
        self.codec = codec
        random = PayloadRandom(seed: seed)
        self.sequenceNumber = sequenceNumber
        self.timestamp = timestamp
        step = codec == .opus ? 960 : 3000
    }

    /// Returns the packets of the next frame.
    mutating func frame(key: Bool = false, size: Int = 500) -> [JitterPacket] {
        let bytes: [UInt8] =
            switch codec {
            case .h264: H264Fixtures.accessUnit(key: key, size: size, using: &random)
            case .vp8: H264Fixtures.vp8Frame(key: key, size: size, using: &random)
            case .vp9: VideoPayloadFixtures.vp9Frame(key: key, size: size, using: &random)
            case .av1: VideoPayloadFixtures.av1TemporalUnit(key: key, size: size, using: &random)
            case .h265: VideoPayloadFixtures.h265AccessUnit(key: key, size: size, using: &random)
            case .opus: [0xFC] + random.nonZeroBytes(size)
            }
        frames.append(bytes)
        let packets = H264Fixtures.payloads(of: codec, bytes).map { payload in
            defer { sequenceNumber &+= 1 }
            return JitterPacket(
                payload: payload.bytes, sequenceNumber: sequenceNumber, timestamp: timestamp, marker: payload.isLast)
        }
        timestamp &+= step
        return packets
    }
}

extension Instant {
    static func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: 0) + .milliseconds(milliseconds) }
}

extension JitterBuffer {
    @discardableResult
    mutating func insert(_ packet: JitterPacket, at now: Instant) -> Insertion {
        packet.payload.withByteView { bytes in
            insert(
                payload: bytes, sequenceNumber: packet.sequenceNumber, timestamp: packet.timestamp,
                marker: packet.marker, at: now)
        }
    }

    /// Inserts a packet that has padding only.
    mutating func insertPadding(sequenceNumber: UInt16, timestamp: UInt32, at now: Instant) -> Insertion {
        insert(
            payload: ByteView(), sequenceNumber: sequenceNumber,
            timestamp: timestamp, marker: false, at: now)
    }

    mutating func insert(all packets: [JitterPacket], at now: Instant) {
        for packet in packets { insert(packet, at: now) }
    }

    /// Returns all frames that are ready.
    mutating func frames(at now: Instant) -> [Frame] {
        outputs(at: now).compactMap { output in
            if case .frame(let frame) = output { return frame }
            return nil
        }
    }

    mutating func outputs(at now: Instant) -> [Output] {
        var outputs: [Output] = []
        while let output = poll(at: now) { outputs.append(output) }
        return outputs
    }
}
