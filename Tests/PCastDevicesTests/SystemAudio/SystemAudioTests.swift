import Foundation
import PCastCore
import Synchronization
import Testing

@testable import PCastDevices

/// Everything here happens on sound servers of the tests' own, with programs that play on them.
@Suite(
    "The sound that the machine plays is captured",
    .enabled(
        if: TestAudioServer.missing.isEmpty,
        "left out: system sound: PulseAudio is not installed (apt-get install pulseaudio pulseaudio-utils)"),
    .timeLimit(.minutes(5)), .serialized)
struct SystemAudioTests {
    /// What a source delivers, for tests to wait for.
    private final class Frames: Sendable {
        let source: SystemAudioSource
        private let frames: AsyncStream<AudioFrame>
        private let end = Mutex<SourceEnd?>(nil)

        init(_ source: SystemAudioSource) throws {
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

    /// How much of a frame's power, in its first channel, is a tone of this frequency: 1 for the tone alone.
    private static func share(of frequency: Double, in frame: AudioFrame) -> Double {
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

    private static func isSilent(_ frame: AudioFrame) -> Bool { frame.samples.allSatisfy { $0 == 0 } }

    @Test("silence is heard while nothing plays, and then the tone that is played", arguments: [1, 2])
    func tone(_ channels: Int) async throws {
        let server = try TestAudioServer()
        let frames = try Frames(SystemAudioSource(channels: channels, server: server.address))
        #expect(frames.source.channels == channels)
        let silent = try #require(await frames.first(where: Self.isSilent))
        #expect(silent.sampleCount == 960 && silent.channels == channels)
        let before = Date().timeIntervalSince1970
        let player = try server.play(1_000, to: "speakers")
        let frame = try #require(await frames.first { Self.share(of: 1_000, in: $0) > 0.99 })
        // Nothing is heard before it was played.
        let heard = try #require(frame.captureTime)
        #expect(heard > WallTime(nanosecondsSinceEpoch: Int64(before * 1e9)))
        // The level is what was played: half of the full scale.
        // Where the player was held up in the middle of a frame, the next one shows it.
        let isAsPlayed = { @Sendable (frame: AudioFrame) in abs(Int(frame.samples.max() ?? 0) - 16_384) < 300 }
        let steady = try #require(await frames.first { Self.share(of: 1_000, in: $0) > 0.99 && isAsPlayed($0) })
        if channels == 2 {
            #expect(stride(from: 0, to: 1_920, by: 2).allSatisfy { steady.samples[$0] == steady.samples[$0 + 1] })
        }
        player.end()
        _ = try #require(await frames.first(where: Self.isSilent))
    }

    @Test("frames follow each other, gaps are told by the time, and capture times are the machine's")
    func times() async throws {
        let server = try TestAudioServer()
        let player = try server.play(500, to: "speakers")
        let frames = try Frames(SystemAudioSource(server: server.address))
        var last = try #require(await frames.first { Self.share(of: 500, in: $0) > 0.99 })
        for _ in 0..<50 {
            let frame = try #require(await frames.first { _ in true })
            // On a machine that is busy with other things some may be missed.
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

    @Test("an output is heard by its name, and no other; the default is followed when it becomes another")
    func outputs() async throws {
        // What was told to play to the default would move with it; so the players name others.
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
        // So that the server itself moves no recording along.
        try server.control("set-default-source", "default.monitor")
        try server.control("set-default-sink", "headphones")
        _ = try #require(await standard.first { Self.share(of: 3_000, in: $0) > 0.99 })
        // The server moves what plays to the default along with it: both tones are on the speakers now.
        try server.control("set-default-sink", "speakers")
        _ = try #require(await standard.first { Self.share(of: 1_000, in: $0) > 0.4 })
        first.end()
        second.end()
    }

    @Test("an output that is taken away has vanished")
    func outputGone() async throws {
        let server = try TestAudioServer(sinks: ["speakers", "headphones"])
        let frames = try Frames(SystemAudioSource(id: "headphones.monitor", server: server.address))
        _ = try #require(await frames.first { _ in true })
        let modules = try server.control("list", "short", "modules").split(separator: "\n")
        let module = try #require(modules.first { $0.contains("sink_name=headphones") })
        try server.control("unload-module", String(try #require(module.split(separator: "\t").first)))
        guard case .vanished = await frames.ending() else {
            Issue.record("not vanished")
            return
        }
    }

    @Test("a sound server that ends has vanished, and whoever looks for it then finds none")
    func serverGone() async throws {
        let server = try TestAudioServer()
        let frames = try Frames(SystemAudioSource(server: server.address))
        _ = try #require(await frames.first { _ in true })
        server.end()
        guard case .vanished = await frames.ending() else {
            Issue.record("not vanished")
            return
        }
        #expect(SystemAudioOutputs.enumerate(server: server.address).isEmpty)
        #expect(throws: DeviceError.notFound("system audio", lookedIn: PulseServerProbe.description)) {
            try SystemAudioSource(server: server.address)
        }
    }

    @Test("an output that is not there is named")
    func notThere() throws {
        let server = try TestAudioServer()
        #expect(throws: DeviceError.notFound("system audio kitchen.monitor", lookedIn: "the sound server's outputs")) {
            try SystemAudioSource(id: "pulse:kitchen.monitor", server: server.address)
        }
    }

    @Test("a sound server that hangs does not hold whoever stops, and is told of to whoever comes")
    func hanging() async throws {
        let server = try TestAudioServer()
        let frames = try Frames(SystemAudioSource(server: server.address))
        _ = try #require(await frames.first { _ in true })
        server.freeze()
        frames.source.stop()
        frames.source.stop()
        do throws(DeviceError) {
            _ = try SystemAudioSource(server: server.address)
            Issue.record("it answered")
        } catch {
            guard case .faulty = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test("a source that is stopped from within its own delivery ends, and nothing is delivered after")
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
            }, ended: { _ in Issue.record("it was stopped") })
        for await _ in stopped {}
        source.stop()
        #expect(count.withLock { $0 } == 1)
    }
}
