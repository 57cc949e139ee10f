import Foundation
import PCastCore
import Synchronization
import Testing

@testable import PCastDevices

/// Uses alsa-lib's own PCMs that need no hardware. They deliver as much as is requested, so the source must pace
/// itself.
@Suite("A microphone on alsa-lib's own devices", .serialized)
struct MicrophoneSourceTests {
    private func frames(of source: MicrophoneSource, count: Int) async throws -> [AudioFrame] {
        let (stream, continuation) = AsyncStream<AudioFrame>.makeStream()
        try source.start(
            deliver: { continuation.yield($0) },
            ended: { end in
                Issue.record("the source ended: \(end)")
                continuation.finish()
            })
        var frames: [AudioFrame] = []
        for await frame in stream {
            frames.append(frame)
            if frames.count == count { break }
        }
        source.stop()
        return frames
    }

    @Test(
        "frames arrive at the rate of the clock, also from a device that has none",
        arguments: AudioChannelLayout.allCases
    )
    func pace(_ channels: AudioChannelLayout) async throws {
        let source = try MicrophoneSource(id: "null", configuration: AudioConfiguration(channels: channels))
        #expect(source.channels == channels.channels)
        let start = ContinuousClock.now
        let frames = try await frames(of: source, count: 50)
        let passed = start.duration(to: .now)
        // The device initially had four periods.
        #expect(passed > .milliseconds(900), "a second of audio arrived in \(passed)")
        #expect(frames[0].timestamp.ticks == 0)
        for (frame, last) in zip(frames.dropFirst(), frames) {
            // If a busy machine suspends the source for more than a second, its time jumps.
            let ticks = frame.timestamp.ticks - last.timestamp.ticks
            #expect(ticks == 960 || ticks > 48_000)
            let step = try #require(frame.captureTime) - (try #require(last.captureTime))
            #expect((step - ClockRate.opus.span(ofTicks: ticks)).magnitude < .milliseconds(5))
        }
        for frame in frames {
            #expect(frame.channels == channels.channels)
            #expect(frame.samples == Array(repeating: 0, count: 960 * channels.channels))
        }
        #expect(source.statistics.frames >= 50 && source.statistics.xruns == 0)
    }

    @Test("nothing is delivered after a stop; a stop without a start releases the device, and twice is harmless")
    func stop() async throws {
        let unstarted = try MicrophoneSource(id: "null", configuration: AudioConfiguration())
        unstarted.stop()
        unstarted.stop()
        let source = try MicrophoneSource(id: "null", configuration: AudioConfiguration())
        let count = Mutex(0)
        try source.start(
            deliver: { _ in count.withLock { $0 += 1 } },
            ended: { _ in Issue.record("a stopped source must not report an end") })
        while count.withLock({ $0 }) < 3 { await Task.yield() }
        source.stop()
        let after = count.withLock { $0 }
        source.stop()
        #expect(count.withLock { $0 } == after && source.statistics.frames == after)
    }

    @Test("a delivery can stop the microphone")
    func stopFromWithin() async throws {
        let source = try MicrophoneSource(id: "null", configuration: AudioConfiguration())
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        try source.start(
            deliver: { [unowned source] _ in
                source.stop()
                continuation.finish()
            }, ended: { _ in })
        for await _ in stream {}
        source.stop()
    }

    @Test("a missing device is reported with the places of the search")
    func absent() {
        let error = #expect(throws: DeviceError.self) {
            _ = try MicrophoneSource(id: "hw:31,0", configuration: AudioConfiguration())
        }
        #expect(error == .notFound("microphone:hw:31,0", lookedIn: "/dev/snd"))
        #expect(error?.description.contains("synthetic") == true)
    }

    @Test("an ideal polar pattern that no control provides is reported")
    func pattern() throws {
        let source = try MicrophoneSource(id: "null", configuration: AudioConfiguration())
        #expect(source.apply(AudioConfiguration()).isEmpty)
        #expect(source.apply(AudioConfiguration(polarPattern: .cardioid))[.polarPattern] != nil)
        source.stop()
    }

    @Test("every listed microphone has a unique name and reports its capabilities")
    func enumeration() {
        let devices = Microphones.enumerate()
        #expect(Set(devices.map(\.info.id)).count == devices.count)
        for device in devices {
            #expect(device.info.mediaType == .audio && !device.info.name.isEmpty)
            guard case .audio(let audio) = device.capabilities else {
                Issue.record("\(device.info.id) is not an audio source")
                continue
            }
            #expect(audio.canCancelEcho && audio.sampleRates == audio.sampleRates.sorted())
        }
    }
}
