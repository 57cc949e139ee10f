import Foundation
import PCastCore
import PCastDevices
import Testing

@testable import PCast

/// The encoders of a stream without subscribers.
@Suite struct RestingEncodersTests {
    private static let size = Dimensions(width: 64, height: 48)

    private static func frame(_ number: Int) -> VideoSample {
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: VideoFrame.layout(size).byteCount, alignment: 32)
        for index in memory.indices { memory[index] = UInt8(truncatingIfNeeded: index &* 7 &+ number &* 31) }
        return .frame(
            VideoFrame(
                dimensions: size, captureTime: nil, timestamp: MediaTime(ticks: Int64(number) * 3000, rate: .video),
                memory: memory, release: { $0.deallocate() }))
    }

    private static func audio(_ number: Int) -> AudioFrame {
        AudioFrame(
            samples: [Int16](repeating: 100, count: 960), channels: 1, captureTime: nil,
            timestamp: MediaTime(ticks: Int64(number) * 960, rate: .opus))
    }

    @Test("paused video omits frames, and the first one after the pause is a key frame")
    func pausedVideo() async throws {
        let (frames, made) = AsyncStream.makeStream(of: EncodedFrame.self)
        let encoding = VideoEncoding(
            codec: .vp8, bitrate: .kilobits(300), frameRate: 30, limits: BandwidthLimits(),
            encoded: { made.yield($0) }, failed: { _ in made.finish() })
        try encoding.start()
        defer { encoding.stop() }
        var encoded = frames.makeAsyncIterator()
        for number in 0..<3 {
            encoding.push(Self.frame(number))
            #expect(await encoded.next()?.isKeyFrame == (number == 0))
        }
        encoding.setPaused(true)
        for number in 3..<20 { encoding.push(Self.frame(number)) }
        encoding.setPaused(false)
        encoding.push(Self.frame(20))
        let first = try #require(await encoded.next())
        #expect(first.isKeyFrame)
        #expect(first.timestamp.ticks == 60_000)
        encoding.push(Self.frame(21))
        #expect(await encoded.next()?.isKeyFrame == false)

        var statistics = PublisherStatistics()
        encoding.report(into: &statistics)
        #expect(statistics.framesCaptured == 22)
        #expect(statistics.framesEncoded == 5)
        #expect(statistics.framesDropped == 0)
    }

    @Test("coded video resumes at a key frame after a pause")
    func pausedCodedVideo() async {
        let (frames, made) = AsyncStream.makeStream(of: EncodedFrame.self)
        let encoding = VideoEncoding(
            codec: .h264, bitrate: nil, frameRate: 30, limits: BandwidthLimits(), encoded: { made.yield($0) },
            failed: { _ in })
        func push(_ number: Int, isKeyFrame: Bool) {
            encoding.push(
                .coded(
                    EncodedFrame(
                        codec: .h264, bytes: [UInt8(number)], isKeyFrame: isKeyFrame,
                        timestamp: MediaTime(ticks: Int64(number), rate: .video), captureTime: nil)))
        }
        for number in 0..<3 { push(number, isKeyFrame: number == 0) }
        encoding.setPaused(true)
        for number in 3..<6 { push(number, isKeyFrame: number == 4) }
        encoding.setPaused(false)
        for number in 6..<10 { push(number, isKeyFrame: number == 8) }
        made.finish()
        var passed: [UInt8] = []
        for await frame in frames { passed += frame.bytes }
        #expect(passed == [0, 1, 2, 8, 9])
    }

    @Test("paused audio is omitted and resumes with its own timestamps")
    func pausedAudio() async throws {
        let (packets, made) = AsyncStream.makeStream(of: EncodedFrame.self)
        let encoding = AudioEncoding(
            channels: 1, bitrate: .kilobits(64), encoded: { made.yield($0) }, failed: { _ in made.finish() })
        try encoding.start()
        defer { encoding.stop() }
        var encoded = packets.makeAsyncIterator()
        encoding.push(Self.audio(0))
        #expect(await encoded.next()?.timestamp.ticks == 0)
        encoding.setPaused(true)
        for number in 1..<100 { encoding.push(Self.audio(number)) }
        encoding.setPaused(false)
        encoding.push(Self.audio(100))
        #expect(await encoded.next()?.timestamp.ticks == 96_000)
    }

    @Test("the statistics state whether there are subscribers")
    func statisticsOfSubscribers() throws {
        var statistics = PublisherStatistics()
        #expect(statistics.hasSubscribers)
        statistics.hasSubscribers = false
        let text = String(decoding: try JSONEncoder().encode(statistics), as: UTF8.self)
        #expect(text.contains("\"hasSubscribers\":false"))
    }
}
