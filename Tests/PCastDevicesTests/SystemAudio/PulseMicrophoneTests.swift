import PCastCore
import Synchronization
import Testing

@testable import PCastDevices

/// These tests use their own audio servers, whose microphones are what an output plays.
@Suite(
    "Microphones of an audio server",
    .enabled(
        if: TestAudioServer.missing.isEmpty,
        "left out: system audio: PulseAudio is not installed (apt-get install pulseaudio pulseaudio-utils)"),
    .timeLimit(.minutes(5)), .serialized)
struct PulseMicrophoneTests {
    /// Adds a microphone that hears an output. Returns the number of its module.
    private static func add(_ name: String, hearing sink: String, to server: TestAudioServer) throws -> String {
        let module = try server.control(
            "load-module", "module-remap-source", "master=\(sink).monitor", "source_name=\(name)",
            "source_properties=device.description=Headset")
        return module.filter(\.isNumber)
    }

    @Test("a microphone is listed as hardware, and the monitor of an output is not")
    func listed() throws {
        let server = try TestAudioServer()
        #expect(PulseMicrophones.enumerate(server: server.address).isEmpty)
        _ = try Self.add("headset", hearing: "speakers", to: server)
        let devices = PulseMicrophones.enumerate(server: server.address)
        #expect(devices.map(\.info.id) == ["pulse:headset"])
        let info = try #require(devices.first?.info)
        #expect(info.name == "Headset" && info.deviceType == .physical && info.mediaType == .audio)
        #expect(PulseMicrophones.name(inID: info.id) == "headset")
        #expect(PulseMicrophones.name(inID: "hw:CARD=Headset") == nil)
        #expect(try SourceSpecification("microphone:\(info.id)") == .microphone(id: "pulse:headset"))
    }

    @Test("the audio of a microphone is captured, and no other", arguments: [1, 2])
    func captured(_ channels: Int) async throws {
        let server = try TestAudioServer(sinks: ["speakers", "headphones"])
        _ = try Self.add("headset", hearing: "headphones", to: server)
        let other = try server.play(1_000, to: "speakers")
        let own = try server.play(3_000, to: "headphones")
        let source = try SystemAudioSource(microphone: "headset", channels: channels, server: server.address)
        let frames = try SystemAudioTests.Frames(source)
        let frame = try #require(await frames.first { SystemAudioTests.share(of: 3_000, in: $0) > 0.99 })
        #expect(frame.channels == channels && frame.sampleCount == 960)
        own.end()
        _ = try #require(await frames.first(where: SystemAudioTests.isSilent))
        other.end()
    }

    @Test("a microphone that is removed has vanished, and one that does not exist is not found")
    func gone() async throws {
        let server = try TestAudioServer()
        let module = try Self.add("headset", hearing: "speakers", to: server)
        let frames = try SystemAudioTests.Frames(SystemAudioSource(microphone: "headset", server: server.address))
        _ = try #require(await frames.first { _ in true })
        try server.control("unload-module", module)
        guard case .vanished = await frames.ending() else {
            Issue.record("the source did not report that it vanished")
            return
        }
        #expect(
            throws: DeviceError.notFound("microphone:pulse:headset", lookedIn: "the audio server's sources")
        ) {
            try SystemAudioSource(microphone: "headset", server: server.address)
        }
    }

    @Test("microphones that appear and disappear are reported, also with their server")
    func hotPlug() async throws {
        let server = try TestAudioServer()
        let address = server.address
        let (lists, continuation) = AsyncStream<[String]>.makeStream()
        let monitor = try PulseDeviceMonitor(server: address) {
            continuation.yield(PulseMicrophones.enumerate(server: address).map(\.info.id))
        }
        defer { monitor.stop() }
        var iterator = lists.makeAsyncIterator()
        /// Waits for a report of these microphones.
        func reported(_ expected: [String]) async { while let ids = await iterator.next(), ids != expected {} }
        await reported([])
        let module = try Self.add("headset", hearing: "speakers", to: server)
        await reported(["pulse:headset"])
        try server.control("unload-module", module)
        await reported([])
        _ = try Self.add("other", hearing: "speakers", to: server)
        await reported(["pulse:other"])
        server.end()
        await reported([])
    }
}
