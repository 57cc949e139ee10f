import PCastCore
import Testing

@testable import PCastDevices

@Suite("Sources in real time", .serialized)
struct SourceTests {
    @Test("the test pattern has its frame rate, and its strip equals the capture time")
    func syntheticVideo() async throws {
        let source = SyntheticVideoSource(dimensions: Dimensions(width: 320, height: 180), frameRate: 50)
        let (frames, continuation) = AsyncStream<VideoFrame>.makeStream()
        try source.start(
            deliver: { if case .frame(let frame) = $0 { continuation.yield(frame) } },
            ended: { _ in continuation.finish() })
        var seen: [VideoFrame] = []
        for await frame in frames {
            seen.append(frame)
            if seen.count == 10 { break }
        }
        source.stop()
        #expect(source.dimensions == Dimensions(width: 320, height: 180) && source.nominalFrameRate == 50)
        let first = try #require(seen.first?.captureTime)
        var previous: UInt16?
        for frame in seen {
            let stamp = try #require(TestPatternStrip.read(frame))
            let captured = try #require(frame.captureTime)
            #expect(stamp.milliseconds == captured.millisecondsSinceEpoch % (1 << 40))
            let index = Int64(stamp.counter) - Int64(try #require(TestPatternStrip.read(seen[0])).counter)
            #expect(captured - first == .milliseconds(20 * index))
            #expect(frame.timestamp.ticks == 1_800 * Int64(stamp.counter))
            if let previous { #expect(stamp.counter > previous) }
            previous = stamp.counter
        }
    }

    @Test("the test tone claps at the UTC second of its capture times", arguments: [1, 2])
    func syntheticAudio(_ channels: Int) async throws {
        let source = SyntheticAudioSource(channels: channels)
        let (frames, continuation) = AsyncStream<AudioFrame>.makeStream()
        try source.start(deliver: { continuation.yield($0) }, ended: { _ in continuation.finish() })
        var detector = ClapperDetector()
        var count: Int64 = 0
        var onset: WallTime?
        for await frame in frames {
            #expect(frame.sampleCount == 960 && frame.channels == channels)
            #expect(frame.timestamp.ticks == count * 960)
            count += 1
            if let offset = detector.listen(to: frame) { onset = try #require(frame.captureTime) + offset }
            if onset != nil || count == 80 { break }
        }
        source.stop()
        let heard = try #require(onset)
        let error = heard - ClapperSchedule.second(of: heard + .milliseconds(500))
        #expect(error.magnitude < .milliseconds(1), "off by \(error)")
    }

    @Test("null is black and silent, and its times continue")
    func null() async throws {
        let video = NullVideoSource(dimensions: Dimensions(width: 64, height: 36), frameRate: 100)
        let (frames, videoFrame) = AsyncStream<VideoFrame>.makeStream()
        try video.start(deliver: { if case .frame(let frame) = $0 { videoFrame.yield(frame) } }, ended: { _ in })
        var last: VideoFrame?
        for await frame in frames {
            #expect(TestFrames.middle(of: frame) == 16 && frame.planeU[0] == 128 && frame.planeV[0] == 128)
            if let last { #expect(try #require(frame.captureTime) > (try #require(last.captureTime))) }
            let isSecond = last != nil
            last = frame
            if isSecond { break }
        }
        video.stop()
        let audio = NullAudioSource(channels: 1)
        let (audioFrames, audioFrame) = AsyncStream<AudioFrame>.makeStream()
        try audio.start(deliver: { audioFrame.yield($0) }, ended: { _ in })
        for await frame in audioFrames {
            #expect(frame.samples == Array(repeating: 0, count: 960))
            break
        }
        audio.stop()
    }

    @Test("nothing is delivered after a stop, and a stop without a start is harmless")
    func stop() async throws {
        SyntheticVideoSource(dimensions: Dimensions(width: 64, height: 36)).stop()
        let source = SyntheticAudioSource()
        let (frames, continuation) = AsyncStream<AudioFrame>.makeStream()
        try source.start(
            deliver: { continuation.yield($0) }, ended: { _ in Issue.record("a stopped source must not report an end") }
        )
        for await _ in frames { break }
        source.stop()
        continuation.finish()
    }
}
