import Glibc
import PCastCodecs
import PCastCore
import PCastTestSupport
import Testing

@Suite struct OpusTests {
    /// Returns a voice-like tone: harmonics of a gliding pitch, which Opus codes as speech.
    private func voice(samples: Int, from first: Int = 0) -> [Int16] {
        (first..<first + samples).map { index in
            let time = Double(index) / 48_000
            let phase = 2 * Double.pi * (140 * time + 8 * sin(2 * .pi * 1.5 * time))
            let tone = (1...12).reduce(0.0) { $0 + sin(Double($1) * phase) / Double($1) }
            return Int16(5_000 * tone * (0.6 + 0.4 * sin(2 * .pi * 4 * time)))
        }
    }

    private func frame(_ samples: [Int16], channels: Int = 1, at ticks: Int64 = 0) -> AudioFrame {
        AudioFrame(
            samples: samples, channels: channels, captureTime: WallTime(millisecondsSinceEpoch: 1_000_000),
            timestamp: MediaTime(ticks: ticks, rate: .opus))
    }

    private func power(_ samples: some Sequence<Int16>) -> Double {
        samples.reduce(0.0) { $0 + Double($1) * Double($1) }
    }

    private func difference(_ left: [Int16], _ right: [Int16]) -> Double {
        zip(left, right).reduce(0.0) { $0 + pow(Double($1.0) - Double($1.1), 2) }
    }

    @Test("a tone keeps its pitch and loudness", arguments: [1, 2]) func roundTrip(_ channels: Int) throws {
        let encoder = try OpusEncoder(channels: channels, bitrate: .kilobits(64))
        let decoder = try OpusDecoder(channels: channels)
        var heard: [Int16] = []
        for number in 0..<50 {
            let tone = (0..<960).flatMap { index in
                let value = Int16(8_000 * sin(2 * .pi * 440 * Double(number * 960 + index) / 48_000))
                return Array(repeating: value, count: channels)
            }
            let packets = try encoder.encode(frame(tone, channels: channels, at: Int64(number) * 960))
            #expect(packets.count == 1)
            #expect(packets[0].timestamp == MediaTime(ticks: Int64(number) * 960, rate: .opus))
            let audio = try decoder.decode(packets[0])
            #expect(audio.sampleCount == 960)
            #expect(audio.channels == channels)
            heard += audio.samples
        }
        let left = stride(from: 24_000 * channels, to: heard.count, by: channels).map { heard[$0] }
        #expect(abs(power(left) / Double(left.count) / 32_000_000 - 1) < 0.1)
        let crossings = zip(left, left.dropFirst()).count { $0 < 0 && $1 >= 0 }
        #expect(abs(Double(crossings) / (Double(left.count) / 48_000) - 440) < 4)
    }

    @Test("audio in parts of any length becomes packets of 20 ms with the times of their samples") func pieces() throws
    {
        let encoder = try OpusEncoder(channels: 2, bitrate: .kilobits(64))
        var ticks: Int64 = 100
        var times: [Int64] = []
        for length in [441, 1_024, 7, 2_880, 960, 1] {
            let packets = try encoder.encode(frame(voice(samples: length), at: ticks))
            times += packets.map(\.timestamp.ticks)
            ticks += Int64(length)
        }
        #expect(times == [100, 1_060, 2_020, 2_980, 3_940])
    }

    @Test("a lost packet is recovered from the next one with better quality than concealment")
    func forwardErrorCorrection() throws {
        let encoder = try OpusEncoder(channels: 1, bitrate: .kilobits(32))
        encoder.setExpectedLoss(percent: 25)
        let packets = try encoder.encode(frame(voice(samples: 48_000 * 3)))
        #expect(packets.count == 150)
        var (corrected, concealed) = (0.0, 0.0)
        for lost in stride(from: 30, to: 140, by: 11) {
            let (whole, correcting, concealing) = (
                try OpusDecoder(channels: 1), try OpusDecoder(channels: 1), try OpusDecoder(channels: 1)
            )
            for packet in packets[..<lost] {
                for decoder in [whole, correcting, concealing] { _ = try decoder.decode(packet) }
            }
            let truth = try whole.decode(packets[lost]).samples
            var empty = packets[lost + 1]
            let repaired = try correcting.conceal(.milliseconds(20), before: empty)
            empty.bytes = []
            let madeUp = try concealing.conceal(.milliseconds(20), before: empty)
            #expect(repaired.count == 1)
            #expect(repaired.first?.timestamp == packets[lost].timestamp)
            #expect(repaired.first?.captureTime == packets[lost].captureTime)
            corrected += difference(repaired[0].samples, truth)
            concealed += difference(madeUp[0].samples, truth)
        }
        #expect(corrected < concealed / 2, "\(corrected) \(concealed)")
    }

    @Test("a packet contains the one before it for voice with expected loss, and not otherwise")
    func correction() throws {
        for (loss, channels) in [(25, 1), (25, 2), (0, 1)] {
            let encoder = try OpusEncoder(channels: channels, bitrate: .kilobits(channels == 1 ? 32 : 48))
            encoder.setExpectedLoss(percent: loss)
            let mono = voice(samples: 48_000 * 2)
            let audio = AudioFrame(
                samples: mono.flatMap { Array(repeating: $0, count: channels) }, channels: channels, captureTime: nil,
                timestamp: MediaTime(ticks: 0, rate: .opus))
            let packets = try encoder.encode(audio)
            let carried = packets.count { OpusCorrection.containsRedundancy(by: $0.bytes) }
            #expect(loss > 0 ? carried > packets.count / 2 : carried == 0, "\(carried) of \(packets.count)")
        }
        #expect(!OpusCorrection.containsRedundancy(by: []) && !OpusCorrection.containsRedundancy(by: [0x08]))
    }

    @Test("a gap is filled completely, with times up to the next packet") func gap() throws {
        let encoder = try OpusEncoder(channels: 1, bitrate: .kilobits(32))
        let packets = try encoder.encode(frame(voice(samples: 48_000)))
        let decoder = try OpusDecoder(channels: 2)
        for packet in packets[..<10] { _ = try decoder.decode(packet) }
        let audioFrames = try decoder.conceal(.milliseconds(60), before: packets[13])
        #expect(audioFrames.map(\.timestamp) == packets[10..<13].map(\.timestamp))
        #expect(audioFrames.allSatisfy { $0.sampleCount == 960 && $0.channels == 2 })
        #expect(try decoder.conceal(.zero, before: packets[14]).isEmpty)
        #expect(try decoder.conceal(.seconds(Int64(3_600)), before: packets[14]).count == 50)
    }

    @Test("the bit rate can change while it runs") func bitrate() throws {
        let encoder = try OpusEncoder(channels: 2, bitrate: .kilobits(96))
        func size() throws -> Int {
            try encoder.encode(frame(voice(samples: 48_000))).reduce(0) { $0 + $1.bytes.count } * 8
        }
        let high = try size()
        encoder.setBitrate(.kilobits(24))
        let low = try size()
        #expect((60_000..<130_000).contains(high), "\(high)")
        #expect((14_000..<34_000).contains(low), "\(low)")
    }

    @Test("an invalid packet throws") func garbage() throws {
        var generator = SeededGenerator(seed: 3)
        let decoder = try OpusDecoder(channels: 2)
        func decode(_ bytes: [UInt8]) throws -> AudioFrame {
            try decoder.decode(
                EncodedFrame(
                    codec: .opus, bytes: bytes, isKeyFrame: true, timestamp: MediaTime(ticks: 0, rate: .opus),
                    captureTime: nil))
        }
        #expect(throws: CodecError.self) { try decode([]) }
        #expect(throws: CodecError.self) { try decode([0xFF, 0xFF]) }
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 1...60, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            if let audio = try? decode(bytes) { #expect(audio.sampleCount <= 5_760) }
        }
        for channels in [0, 3, -1] {
            #expect(throws: CodecError.self) { try OpusDecoder(channels: channels) }
            #expect(throws: CodecError.self) { try OpusEncoder(channels: channels, bitrate: .kilobits(64)) }
        }
    }
}
