import PCastCodecs
import PCastCore
import Synchronization
import Testing

@testable import PCastDevices

@Suite("Frames of a stream whose source changes")
struct VideoInputTests {
    private func request(width: Double, rate: Double = 50) -> VideoRequest {
        VideoRequest(
            .synthetic,
            constraints: [
                .width: [DeviceConstraint(.number(width), kind: .exact)],
                .height: [DeviceConstraint(.number(width / 2), kind: .exact)],
                .frameRate: [DeviceConstraint(.number(rate), kind: .exact)],
            ])
    }

    @Test("the size changes while the stream runs, and its time continues")
    func resize() async throws {
        let input = try VideoInput(request(width: 128))
        let (frames, continuation) = AsyncStream<VideoFrame>.makeStream()
        try input.start(
            deliver: { if case .frame(let frame) = $0 { continuation.yield(frame) } },
            ended: { end in Issue.record("the input ended: \(end)") })
        var last = MediaTime(ticks: -1, rate: .video)
        var sizes: [Dimensions] = []
        for await frame in frames {
            #expect(frame.timestamp.ticks > last.ticks)
            last = frame.timestamp
            if sizes.last != frame.dimensions { sizes.append(frame.dimensions) }
            if sizes.count == 1, input.dimensions.width == 128 { try input.apply(request(width: 256)) }
            if sizes.count == 2 { break }
        }
        input.stop()
        #expect(sizes == [Dimensions(width: 128, height: 64), Dimensions(width: 256, height: 128)])
        #expect(input.selection?.device.info.deviceType == .synthetic)
    }

    @Test("an unmet required constraint is named, and the frames stay unchanged")
    func unmet() throws {
        let input = try VideoInput(request(width: 128))
        defer { input.stop() }
        var greedy = request(width: 128)
        greedy.constraints[.width] = [DeviceConstraint(.number(20_000), kind: .min)]
        do throws(DeviceError) {
            try input.apply(greedy)
            Issue.record("an unsatisfiable request was accepted")
        } catch {
            guard case .unmet(let failure) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(failure.capability == .width && failure.nearest == "7680")
        }
        #expect(input.dimensions == Dimensions(width: 128, height: 64))
    }

    @Test("a paused stream delivers nothing, and its time continues afterwards")
    func rest() async throws {
        let input = try VideoInput(request(width: 128))
        let (frames, continuation) = AsyncStream<VideoFrame>.makeStream()
        try input.start(
            deliver: { if case .frame(let frame) = $0 { continuation.yield(frame) } }, ended: { _ in })
        var iterator = frames.makeAsyncIterator()
        let before = try #require(await iterator.next())
        input.rest()
        #expect(!input.isOpen)
        input.resume()
        #expect(input.isOpen)
        let after = try #require(await iterator.next())
        #expect(after.timestamp.ticks > before.timestamp.ticks)
        input.stop()
    }

    @Test("an on-demand stream that never started is paused at once, and starts on demand")
    func restBeforeStart() async throws {
        let input = try VideoInput(request(width: 128))
        input.rest()
        #expect(!input.isOpen)
        let (frames, continuation) = AsyncStream<VideoFrame>.makeStream()
        try input.start(
            deliver: { if case .frame(let frame) = $0 { continuation.yield(frame) } }, ended: { _ in })
        #expect(!input.isOpen)
        input.resume()
        var iterator = frames.makeAsyncIterator()
        #expect(await iterator.next() != nil)
        input.stop()
    }
}

@Suite("The time of a track whose source changes")
struct TrackTimelineTests {
    private let origin = WallTime(millisecondsSinceEpoch: 1_000_000)

    @Test("frames have their capture times, each later than the one before")
    func frames() {
        var timeline = FrameTimeline()
        #expect(timeline.timestamp(origin).ticks == 0)
        #expect(timeline.timestamp(origin + .milliseconds(40)).ticks == 3_600)
        #expect(timeline.timestamp(origin + .milliseconds(30)).ticks == 3_601)
        #expect(timeline.timestamp(origin + .milliseconds(80)).ticks == 7_200)
    }

    @Test("continuous audio is counted, a gap is kept, and repeated audio is dropped")
    func audio() {
        var timeline = AudioTimeline()
        #expect(timeline.timestamp(origin, samples: 960)?.ticks == 0)
        #expect(timeline.timestamp(origin + .milliseconds(23), samples: 960)?.ticks == 960)
        #expect(timeline.timestamp(origin + .milliseconds(100), samples: 960)?.ticks == 4_800)
        #expect(timeline.timestamp(origin + .milliseconds(60), samples: 960) == nil)
        #expect(timeline.timestamp(origin + .milliseconds(118), samples: 960)?.ticks == 5_760)
    }
}
