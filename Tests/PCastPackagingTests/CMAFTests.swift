import PCastCodecs
import PCastCore
import PCastPackaging
import Testing

@Suite("CMAF files that FFmpeg reads")
struct CMAFTests {
    private static func near(_ time: TimeSpan?, _ expected: TimeSpan) -> Bool {
        guard let time else { return false }
        return (time - expected).magnitude <= .microseconds(25)
    }

    @Test("frames of H.264 are the encoded ones, at their times")
    func video() throws {
        let encoded = try MediaSamples.video(0..<24, keyFrames: [0, 12])
        let samples = encoded.map { H264Sample(annexB: $0.bytes) }
        let format = CMAFFormat.h264(try #require(samples[0].format))
        #expect(format.dimensions == MediaSamples.size)
        #expect(format.codecString.hasPrefix("avc1.42c0") || format.codecString.hasPrefix("avc1.42e0"))
        var file = format.initializationSegment
        for start in stride(from: 0, to: 24, by: 6) {
            let part = samples[start..<start + 6].map { CMAFSample(bytes: $0.bytes, duration: 3_000, isSync: $0.isIDR) }
            file += CMAFFragment.bytes(
                of: Array(part), sequence: UInt32(start), decodeTime: 900_000 + UInt64(start) * 3_000)
        }
        let demuxed = try DemuxedFile(file)
        #expect(demuxed.packets.count == 24)
        for (index, packet) in demuxed.packets.enumerated() {
            let time = TimeSpan.seconds(10 as Int64) + ClockRate.video.span(ofTicks: Int64(index) * 3_000)
            #expect(Self.near(packet.presentationTime, time), "packet \(index)")
            #expect(packet.decodingTime == packet.presentationTime)
            #expect(packet.isKeyFrame == [0, 12].contains(index))
            #expect(packet.size == samples[index].bytes.count)
            #expect(Self.near(packet.duration, .microseconds(33_333)))
        }
        let decoded = try MediaSamples.decode(encoded)
        #expect(demuxed.frames.count == 24)
        for (index, (frame, time)) in demuxed.frames.enumerated() {
            #expect(MediaSamples.isSame(frame, decoded[index]), "frame \(index)")
            #expect(Self.near(time, .seconds(10 as Int64) + ClockRate.video.span(ofTicks: Int64(index) * 3_000)))
        }
    }

    @Test("each key frame contains its parameter sets, so that a decoder can begin there without another file")
    func parameterSets() throws {
        let encoded = try MediaSamples.video(0..<2, keyFrames: [0])
        var key = H264Sample(annexB: encoded[0].bytes)
        #expect(key.isIDR && key.sequenceSets.count == 1 && key.pictureSets.count == 1)
        let type = key.bytes[4] & 0x1F
        #expect(type == 7, "the first unit has the type \(type)")
        key = H264Sample(annexB: [0, 0, 0, 1, 9, 0x10, 0, 0, 1, 12, 0xFF, 0xFF] + encoded[1].bytes)
        #expect(key.bytes == H264Sample(annexB: encoded[1].bytes).bytes, "delimiters and filler data are left out")
        #expect(!key.isIDR && key.hasSlice && key.format == nil)
    }

    @Test("frames that are not in presentation order keep both of their times")
    func compositionOffsets() throws {
        let encoded = try MediaSamples.video(0..<4, keyFrames: [0])
        let units = encoded.map { H264Sample(annexB: $0.bytes) }
        let offsets: [Int32] = [0, 6_000, -3_000, -3_000]
        let samples = zip(units, offsets).map { unit, offset in
            CMAFSample(bytes: unit.bytes, duration: 3_000, compositionOffset: offset, isSync: unit.isIDR)
        }
        let format = CMAFFormat.h264(try #require(units[0].format))
        let demuxer = try SegmentDemuxer(
            MemoryBytes(
                format.initializationSegment + CMAFFragment.bytes(of: samples, sequence: 1, decodeTime: 90_000)),
            container: .fragmentedMP4)
        var differences: [Int64] = []
        while let packet = try demuxer.read() {
            let (presentation, decoding) = try (
                #require(packet.presentationTime), #require(packet.decodingTime)
            )
            differences.append(ClockRate.video.ticks(in: presentation - decoding))
        }
        // FFmpeg moves decoding times ahead so that none exceeds its presentation time.
        #expect(differences.map { $0 - differences[0] } == [0, 6_000, -3_000, -3_000])
    }

    @Test("Opus is decoded at its times")
    func opus() throws {
        let encoder = try OpusEncoder(channels: 2, bitrate: .kilobits(64))
        let packets = try encoder.encode(Self.tone(seconds: 1))
        let samples = packets.map { CMAFSample(bytes: $0.bytes, duration: 960, isSync: true) }
        let format = CMAFFormat.opus(channels: 2)
        #expect(format.codecString == "opus")
        let demuxed = try DemuxedFile(
            format.initializationSegment
                + CMAFFragment.bytes(of: Array(samples[..<25]), sequence: 1, decodeTime: 48_000)
                + CMAFFragment.bytes(of: Array(samples[25...]), sequence: 2, decodeTime: 48_000 + 25 * 960))
        #expect(demuxed.packets.count == 50)
        for (index, packet) in demuxed.packets.enumerated() {
            #expect(packet.presentationTime == .milliseconds(1_000 + 20 * Int64(index)))
            #expect(packet.size == packets[index].bytes.count)
        }
        let audio = try #require(demuxed.audio)
        #expect(audio.start == .seconds(1 as Int64))
        #expect(audio.samples.count == 50 * 960 * 2)
        #expect(audio.samples.contains { $0 > 5_000 })
    }

    @Test("the encoder delay of AAC is removed by the edit list: a click is decoded where it was")
    func aacPriming() throws {
        let encoder = try AACEncoder()
        var input = [Int16](repeating: 0, count: 48_000 * 2)
        let click = 24_000
        for index in 0..<48 { (input[(click + index) * 2], input[(click + index) * 2 + 1]) = (20_000, 20_000) }
        let packets = try encoder.encode(
            AudioFrame(samples: input, channels: 2, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .opus)))
        let priming = Int(-(try #require(packets.first).sample))
        #expect(priming == 1_024)
        let format = CMAFFormat.aac(
            try #require(AACFormat(configuration: encoder.configuration, priming: priming)))
        #expect(format.codecString == "mp4a.40.2" && format.clockRate.hertz == 48_000 && format.channels == 2)
        let samples = packets.map { CMAFSample(bytes: $0.bytes, duration: 1_024, isSync: true) }
        // The packet that decodes to the delay has the presentation time 10 s minus the delay. The edit list subtracts
        // the delay from decoding times.
        let demuxed = try DemuxedFile(
            format.initializationSegment + CMAFFragment.bytes(of: samples, sequence: 1, decodeTime: 480_000))
        let audio = try #require(demuxed.audio)
        let loudest = try #require(
            audio.samples.indices.max { audio.samples[$0].magnitude < audio.samples[$1].magnitude })
        let time = audio.start + ClockRate.opus.span(ofTicks: Int64(loudest / 2))
        let expected = ClockRate.opus.span(ofTicks: Int64(480_000 + click))
        #expect((time - expected).magnitude <= .milliseconds(2), "the click is at \(time)")
    }

    @Test("a configuration of AAC that is truncated or has another object type is refused")
    func aacConfiguration() {
        #expect(AACFormat(configuration: [0x11], priming: 0) == nil)
        #expect(AACFormat(configuration: [0x2B, 0x11], priming: 0) == nil)
        #expect(AACFormat(configuration: [0x11, 0x90], priming: -1) == nil)
        let mono = AACFormat(configuration: [0x12, 0x08], priming: 1_024)
        #expect(mono?.sampleRate == 44_100 && mono?.channels == 1)
    }

    /// Returns a tone of 440 Hz in stereo.
    private static func tone(seconds: Int) -> AudioFrame {
        var samples: [Int16] = []
        for index in 0..<48_000 * seconds {
            // A triangle with a period of 109 samples.
            let phase = index % 109
            let value = Int16((phase < 55 ? phase : 109 - phase) * 400 - 11_000)
            samples += [value, value]
        }
        return AudioFrame(
            samples: samples, channels: 2, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .opus))
    }
}
