import Foundation
import PCastCore
import Synchronization
import Testing

@testable import PCastDevices

/// These tests use their own audio servers, with programs that play on them.
@Suite(
    "The capture of the machine's audio",
    .enabled(
        if: TestAudioServer.missing.isEmpty,
        "left out: system audio: PulseAudio is not installed (apt-get install pulseaudio pulseaudio-utils)"),
    .timeLimit(.minutes(5)), .serialized)
struct SystemAudioTests {
    /// The frames of a source, for which tests can wait.
    final class Frames: Sendable {
        let source: any AudioSource
        private let frames: AsyncStream<AudioFrame>
        private let end = Mutex<SourceEnd?>(nil)

        init(_ source: any AudioSource) throws {
            self.source = source
            let (frames, continuation) = AsyncStream<AudioFrame>.makeStream(bufferingPolicy: .bufferingNewest(50))
            self.frames = frames
            try source.start(
                deliver: { continuation.yield($0) },
                ended: { [self] end in
                    self.end.withLock { $0 = end }
                    continuation.finish()
                })
        }

        deinit { source.stop() }

        func first(where isSo: (AudioFrame) -> Bool) async -> AudioFrame? {
            for await frame in frames where isSo(frame) { return frame }
            return nil
        }

        func ending() async -> SourceEnd? {
            for await _ in frames {}
            return end.withLock { $0 }
        }
    }

    /// Returns the share of a frequency in the power of a frame's first channel: 1 for the tone alone.
    static func share(of frequency: Double, in frame: AudioFrame) -> Double {
        let samples = stride(from: 0, to: frame.samples.count, by: frame.channels).map { Double(frame.samples[$0]) }
        let power = samples.reduce(0) { $0 + $1 * $1 }
        guard power > Double(samples.count) * 10_000 else { return 0 }
        var (sine, cosine) = (0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let angle = 2 * .pi * frequency * Double(index) / 48_000
            sine += sample * sin(angle)
            cosine += sample * cos(angle)
        }
        return 2 * (sine * sine + cosine * cosine) / (Double(samples.count) * power)
    }

    static func isSilent(_ frame: AudioFrame) -> Bool { frame.samples.allSatisfy { $0 == 0 } }

    @Test("silence is captured while nothing plays, and then the tone that is played", arguments: [1, 2])
    func tone(_ channels: Int) async throws {
        let server = try TestAudioServer()
        let frames = try Frames(SystemAudioSource(channels: channels, server: server.address))
        #expect(frames.source.channels == channels)
        let silent = try #require(await frames.first(where: Self.isSilent))
        #expect(silent.sampleCount == 960 && silent.channels == channels)
        let before = Date().timeIntervalSince1970
        let player = try server.play(1_000, to: "speakers")
        let frame = try #require(await frames.first { Self.share(of: 1_000, in: $0) > 0.99 })
        // Nothing is captured before it was played.
        let heard = try #require(frame.captureTime)
        #expect(heard > WallTime(nanosecondsSinceEpoch: Int64(before * 1e9)))
        // The level is half of the full scale, as played. If the player was delayed within a frame, the next one shows
        // it.
        let isAsPlayed = { @Sendable (frame: AudioFrame) in abs(Int(frame.samples.max() ?? 0) - 16_384) < 300 }
        let steady = try #require(await frames.first { Self.share(of: 1_000, in: $0) > 0.99 && isAsPlayed($0) })
        if channels == 2 {
            #expect(stride(from: 0, to: 1_920, by: 2).allSatisfy { steady.samples[$0] == steady.samples[$0 + 1] })
        }
        player.end()
        _ = try #require(await frames.first(where: Self.isSilent))
    }

    @Test("frames are contiguous, gaps are visible in the time, and capture times are the machine's")
    func times() async throws {
        let server = try TestAudioServer()
        let player = try server.play(500, to: "speakers")
        let frames = try Frames(SystemAudioSource(server: server.address))
        var last = try #require(await frames.first { Self.share(of: 500, in: $0) > 0.99 })
        for _ in 0..<50 {
            let frame = try #require(await frames.first { _ in true })
            // A busy machine may miss some frames.
            let ticks = frame.timestamp.ticks - last.timestamp.ticks
            #expect(ticks > 0 && ticks % 960 == 0)
            let step = try #require(frame.captureTime) - (try #require(last.captureTime))
            #expect((step - TimeSpan(seconds: Double(ticks) / 48_000)).magnitude < .milliseconds(1))
            last = frame
        }
        let now = WallTime(nanosecondsSinceEpoch: Int64(Date().timeIntervalSince1970 * 1e9))
        #expect((now - (try #require(last.captureTime))).magnitude < .seconds(60))
        player.end()
    }

    @Test("an output is captured by its name, and no other; the default is followed when it changes")
    func outputs() async throws {
        // A player on the default output would move with it, so the players name other outputs.
        let server = try TestAudioServer(sinks: ["default", "speakers", "headphones"])
        let devices = SystemAudioOutputs.enumerate(server: server.address)
        let names = ["default", "speakers", "headphones"].map { "pulse:\($0).monitor" }
        #expect(devices.map(\.info.id) == [SystemAudioOutputs.standardID] + names)
        #expect(devices.allSatisfy { $0.info.deviceType == .systemOutput && $0.info.mediaType == .audio })
        let first = try server.play(1_000, to: "speakers")
        let second = try server.play(3_000, to: "headphones")
        let named = try Frames(SystemAudioSource(id: "pulse:headphones.monitor", server: server.address))
        let standard = try Frames(SystemAudioSource(id: SystemAudioOutputs.standardID, server: server.address))
        _ = try #require(await named.first { Self.share(of: 3_000, in: $0) > 0.99 })
        _ = try #require(await standard.first(where: Self.isSilent))
        // This prevents the server from moving a recording itself.
        try server.control("set-default-source", "default.monitor")
        try server.control("set-default-sink", "headphones")
        _ = try #require(await standard.first { Self.share(of: 3_000, in: $0) > 0.99 })
        // The server moves streams of the default output as well. Both tones are on the speakers now.
        try server.control("set-default-sink", "speakers")
        _ = try #require(await standard.first { Self.share(of: 1_000, in: $0) > 0.4 })
        first.end()
        second.end()
    }

    @Test("an output that is removed has vanished")
    func outputGone() async throws {
        let server = try TestAudioServer(sinks: ["speakers", "headphones"])
        let frames = try Frames(SystemAudioSource(id: "headphones.monitor", server: server.address))
        _ = try #require(await frames.first { _ in true })
        let modules = try server.control("list", "short", "modules").split(separator: "\n")
        let module = try #require(modules.first { $0.contains("sink_name=headphones") })
        try server.control("unload-module", String(try #require(module.split(separator: "\t").first)))
        guard case .vanished = await frames.ending() else {
            Issue.record("the source did not report that it vanished")
            return
        }
    }

    @Test("an audio server that ends is reported as vanished, and a later search finds none")
    func serverGone() async throws {
        let server = try TestAudioServer()
        let frames = try Frames(SystemAudioSource(server: server.address))
        _ = try #require(await frames.first { _ in true })
        server.end()
        guard case .vanished = await frames.ending() else {
            Issue.record("the source did not report that it vanished")
            return
        }
        #expect(SystemAudioOutputs.enumerate(server: server.address).isEmpty)
        #expect(throws: DeviceError.notFound("system audio", lookedIn: PulseServerProbe.description)) {
            try SystemAudioSource(server: server.address)
        }
    }

    @Test("an error names a missing output")
    func notThere() throws {
        let server = try TestAudioServer()
        #expect(throws: DeviceError.notFound("system audio kitchen.monitor", lookedIn: "the audio server's outputs")) {
            try SystemAudioSource(id: "pulse:kitchen.monitor", server: server.address)
        }
    }

    @Test("an audio server that hangs does not block a stop, and is reported to new clients")
    func hanging() async throws {
        let server = try TestAudioServer()
        let frames = try Frames(SystemAudioSource(server: server.address))
        _ = try #require(await frames.first { _ in true })
        server.freeze()
        frames.source.stop()
        frames.source.stop()
        do throws(DeviceError) {
            _ = try SystemAudioSource(server: server.address)
            Issue.record("the audio server answered")
        } catch {
            guard case .faulty = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test("a source that its own delivery stops ends, and delivers nothing afterwards")
    func stoppedWithin() async throws {
        let server = try TestAudioServer()
        let source = try SystemAudioSource(server: server.address)
        let (stopped, continuation) = AsyncStream<Void>.makeStream()
        let count = Mutex(0)
        try source.start(
            deliver: { [weak source] _ in
                count.withLock { $0 += 1 }
                source?.stop()
                continuation.finish()
            }, ended: { _ in Issue.record("a stopped source must not report an end") })
        for await _ in stopped {}
        source.stop()
        #expect(count.withLock { $0 } == 1)
    }
}
