import PCastCore
import Testing

@testable import PCastDevices

/// These tests use their own audio servers, with programs that play on them.
@Suite(
    "The capture of one program's audio",
    .enabled(
        if: TestAudioServer.missing.isEmpty,
        "left out: the audio of a program: PulseAudio is not installed (apt-get install pulseaudio pulseaudio-utils)"),
    .timeLimit(.minutes(5)), .serialized)
struct ApplicationAudioTests {
    private typealias Frames = SystemAudioTests.Frames

    private static func share(of frequency: Double, in frame: AudioFrame) -> Double {
        SystemAudioTests.share(of: frequency, in: frame)
    }

    @Test("of two programs on one output, one is captured alone, by its name in any case", arguments: [1, 2])
    func alone(_ channels: Int) async throws {
        let server = try TestAudioServer()
        let other = try server.play(1_000, to: "speakers", as: "Other")
        let player = try server.play(440, to: "speakers", as: "Music box")
        let frames = try Frames(ApplicationAudioSource(name: "music BOX", channels: channels, server: server.address))
        // The level is half of the full scale, as played.
        let isAsPlayed = { @Sendable (frame: AudioFrame) in
            Self.share(of: 440, in: frame) > 0.99 && abs(Int(frame.samples.max() ?? 0) - 16_384) < 300
        }
        let first = try #require(await frames.first(where: isAsPlayed))
        #expect(first.sampleCount == 960 && first.channels == channels && frames.source.channels == channels)
        // The output has both tones meanwhile, of which no frame of the program has the other one.
        let all = try Frames(SystemAudioSource(channels: channels, server: server.address))
        _ = try #require(
            await all.first { Self.share(of: 440, in: $0) > 0.4 && Self.share(of: 1_000, in: $0) > 0.4 })
        for _ in 0..<25 {
            let frame = try #require(await frames.first { _ in true })
            // If the player is late, the frame has a part of its tone, which is no pure one.
            #expect(Self.share(of: 1_000, in: frame) < 0.2)
        }
        player.end()
        _ = try #require(await frames.first(where: SystemAudioTests.isSilent))
        other.end()
    }

    @Test("a program may begin and end to play while it is captured, and its streams are added")
    func streams() async throws {
        let server = try TestAudioServer(sinks: ["speakers", "headphones"])
        let frames = try Frames(ApplicationAudioSource(name: "Game", server: server.address))
        var last = try #require(await frames.first(where: SystemAudioTests.isSilent))
        let first = try server.play(500, to: "speakers", as: "Game")
        _ = try #require(await frames.first { Self.share(of: 500, in: $0) > 0.99 })
        // The other stream is on another output.
        let second = try server.play(3_000, to: "headphones", as: "Game")
        _ = try #require(
            await frames.first { Self.share(of: 500, in: $0) > 0.4 && Self.share(of: 3_000, in: $0) > 0.4 })
        first.end()
        _ = try #require(await frames.first { Self.share(of: 3_000, in: $0) > 0.99 })
        second.end()
        _ = try #require(await frames.first(where: SystemAudioTests.isSilent))
        let third = try server.play(500, to: "headphones", as: "Game")
        let heard = try #require(await frames.first { Self.share(of: 500, in: $0) > 0.99 })
        third.end()
        // The sample count and the time continue over all of it. Frames that this test did not read are left out.
        #expect(heard.timestamp.ticks > last.timestamp.ticks)
        last = try #require(await frames.first { _ in true })
        for _ in 0..<25 {
            let frame = try #require(await frames.first { _ in true })
            let ticks = frame.timestamp.ticks - last.timestamp.ticks
            let step = try #require(frame.captureTime) - (try #require(last.captureTime))
            #expect(ticks > 0 && ticks % 960 == 0)
            #expect((step - ClockRate.opus.span(ofTicks: ticks)).magnitude < .milliseconds(1))
            last = frame
        }
    }

    @Test("a program that is moved to another output is still captured")
    func moved() async throws {
        let server = try TestAudioServer(sinks: ["speakers", "headphones"])
        let player = try server.play(500, to: "speakers", as: "Game")
        let frames = try Frames(ApplicationAudioSource(name: "Game", server: server.address))
        _ = try #require(await frames.first { Self.share(of: 500, in: $0) > 0.99 })
        let input = try #require(try server.control("list", "short", "sink-inputs").split(separator: "\t").first)
        try server.control("move-sink-input", String(input), "headphones")
        let listed = try server.control("list", "short", "sink-inputs").split(separator: "\t")
        #expect(listed.count > 1 && listed[1] == "1")
        // The server ends the recording of the former output, so frames are silent or have the tone, and then have it.
        let other = try Frames(SystemAudioSource(id: "headphones.monitor", server: server.address))
        _ = try #require(await other.first { Self.share(of: 500, in: $0) > 0.99 })
        let moved = try #require(await other.first { _ in true }?.captureTime)
        _ = try #require(
            await frames.first { ($0.captureTime ?? moved) > moved && Self.share(of: 500, in: $0) > 0.99 })
        player.end()
    }

    @Test("the programs that play are listed once, and a program that does not play is not found")
    func enumerated() throws {
        let server = try TestAudioServer()
        #expect(ApplicationAudio.enumerate(server: server.address).isEmpty)
        let players = try [server.play(500, to: "speakers", as: "A"), server.play(500, to: "speakers", as: "A")]
        while try server.control("list", "short", "sink-inputs").split(separator: "\n").count < 2 {}
        let devices = ApplicationAudio.enumerate(server: server.address)
        #expect(devices.map(\.info.id) == ["application:A"])
        #expect(devices.allSatisfy { $0.info.deviceType == .systemOutput && $0.info.mediaType == .audio })
        #expect(try ApplicationAudio.find("a", server: server.address).info.id == "application:a")
        #expect(try ApplicationAudio.find("pacat", server: server.address).info.id == "application:pacat")
        #expect(throws: DeviceError.notFound("application:B", lookedIn: "the programs that play audio")) {
            try ApplicationAudio.find("B", server: server.address)
        }
        for player in players { player.end() }
    }

    @Test("an audio server that ends is reported as vanished")
    func serverGone() async throws {
        let server = try TestAudioServer()
        let frames = try Frames(ApplicationAudioSource(name: "Game", server: server.address))
        _ = try #require(await frames.first { _ in true })
        server.end()
        guard case .vanished = await frames.ending() else {
            Issue.record("the source did not report that it vanished")
            return
        }
    }
}

@Suite("The mix of a program's streams")
struct ApplicationAudioMixTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    private static func samples(_ value: Int16, _ count: Int = 960) -> [Int16] {
        [Int16](repeating: value, count: count)
    }

    /// Returns the frames that are complete at a time after the start.
    private static func frames(_ mix: inout ApplicationAudioMix, at time: TimeSpan) -> [ApplicationAudioMix.Frame] {
        var frames: [ApplicationAudioMix.Frame] = []
        while let frame = mix.next(at: start + time) { frames.append(frame) }
        return frames
    }

    @Test("without a stream, silence follows the clock without gaps")
    func silence() {
        var mix = ApplicationAudioMix(channels: 1, start: Self.start)
        #expect(Self.frames(&mix, at: .milliseconds(39)).isEmpty)
        let frames = Self.frames(&mix, at: .milliseconds(80))
        #expect(frames.map(\.ticks) == [0, 960, 1_920])
        #expect(frames.map(\.start) == [0, 20, 40].map { Self.start + .milliseconds($0) })
        #expect(frames.allSatisfy { $0.samples == Self.samples(0) })
    }

    @Test("streams are added by their times, within the range of a sample")
    func sum() {
        var mix = ApplicationAudioMix(channels: 1, start: Self.start)
        mix.add(Self.samples(20_000), from: Self.start, of: 1, at: Self.start)
        mix.add(Self.samples(20_000), from: Self.start + .milliseconds(10), of: 2, at: Self.start)
        mix.add(Self.samples(-5_000), from: Self.start + .milliseconds(20), of: 1, at: Self.start)
        // The second frame is incomplete in the second stream.
        let frames = Self.frames(&mix, at: .milliseconds(50))
        #expect(frames.map(\.samples) == [Self.samples(20_000, 480) + Self.samples(32_767, 480)])
        mix.add(Self.samples(20_000), from: Self.start + .milliseconds(30), of: 2, at: Self.start)
        #expect(Self.frames(&mix, at: .milliseconds(50)).map(\.samples) == [Self.samples(15_000)])
    }

    @Test("small deviations of a stream's times are neither gaps nor overlaps")
    func contiguous() {
        var mix = ApplicationAudioMix(channels: 1, start: Self.start)
        mix.add(Self.samples(7), from: Self.start, of: 1, at: Self.start)
        mix.add(Self.samples(7), from: Self.start + .milliseconds(22), of: 1, at: Self.start)
        mix.add(Self.samples(7), from: Self.start + .milliseconds(37), of: 1, at: Self.start)
        #expect(Self.frames(&mix, at: .milliseconds(60)).map(\.samples) == Array(repeating: Self.samples(7), count: 3))
    }

    @Test("a stream that delivers nothing is awaited for a time, and its late audio is dropped")
    func pause() {
        var mix = ApplicationAudioMix(channels: 1, start: Self.start)
        mix.add(Self.samples(7), from: Self.start, of: 1, at: Self.start)
        #expect(Self.frames(&mix, at: .milliseconds(199)).count == 1)
        let silent = Self.frames(&mix, at: .milliseconds(200))
        #expect(silent.map(\.ticks) == (1...8).map { Int64($0) * 960 })
        #expect(silent.allSatisfy { $0.samples == Self.samples(0) })
        // A half of this audio is late: frames until 180 ms were returned.
        mix.add(
            Self.samples(9), from: Self.start + .milliseconds(170), of: 1, at: Self.start + .milliseconds(200))
        mix.remove(1)
        #expect(
            Self.frames(&mix, at: .milliseconds(220)).map(\.samples) == [Self.samples(9, 480) + Self.samples(0, 480)])
    }

    @Test("audio that is far ahead is not kept, and a long interruption is left out")
    func bounds() {
        var mix = ApplicationAudioMix(channels: 2, start: Self.start)
        mix.add(Self.samples(7, 1_920), from: Self.start + .seconds(100), of: 1, at: Self.start)
        mix.add(Self.samples(7, 1_920), from: Self.start - .seconds(100), of: 2, at: Self.start)
        #expect(Self.frames(&mix, at: .milliseconds(30)).isEmpty)
        mix.remove(2)
        let frames = Self.frames(&mix, at: .seconds(60))
        #expect(frames.count < 5 && frames.allSatisfy { $0.samples == Self.samples(0, 1_920) })
        #expect((frames.last?.start ?? Self.start) > Self.start + .seconds(59))
    }
}
