import Foundation
import PCastCodecs
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
        // On a busy machine its frames may be late.
        let source = SyntheticAudioSource(channels: channels, timeout: .seconds(600))
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

    @Test("a still image is repeated with even sides, in PNG and in JPEG", arguments: [".png", ".jpg"])
    func stillImage(_ ending: String) async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)\(ending)")
            .path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try StillImage.write(TestFrames.empty(Dimensions(width: 66, height: 34), luma: 128), to: path)
        let source = try StillImageSource(path, name: "slate", frameRate: 100)
        #expect(source.dimensions == Dimensions(width: 66, height: 34))
        let (frames, continuation) = AsyncStream<VideoFrame>.makeStream()
        try source.start(deliver: { if case .frame(let frame) = $0 { continuation.yield(frame) } }, ended: { _ in })
        var seen: [VideoFrame] = []
        for await frame in frames {
            #expect(abs(Int(TestFrames.middle(of: frame)) - 128) < 5)
            seen.append(frame)
            if seen.count == 3 { break }
        }
        source.stop()
        let times = seen.compactMap(\.captureTime)
        #expect(times.count == 3 && times == times.sorted() && Set(times).count == 3)
        #expect(throws: DeviceError.self) { try StillImageSource(path + ".none", name: "slate") }
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

@Suite("Sources as text")
struct SourceSpecificationTests {
    @Test(
        "each form has its specified meaning",
        arguments: [
            ("camera", SourceSpecification.camera(id: nil)), ("camera:/dev/video2", .camera(id: "/dev/video2")),
            ("microphone", .microphone(id: nil)), ("microphone:hw:1,0", .microphone(id: "hw:1,0")),
            ("screen", .screen(display: nil)), ("screen::1", .screen(display: ":1")), ("synthetic", .synthetic),
            ("application:Music: Box", .application(name: "Music: Box")),
            ("application", .uri("application", isLooping: false)), ("null", .null),
            ("film.mp4", .uri("film.mp4", isLooping: false)),
            ("film.mp4?loop=1", .uri("film.mp4", isLooping: true)),
            ("film.mp4?loop=0", .uri("film.mp4", isLooping: false)),
            ("rtsp://host/a?b=1&loop=1&c=2", .uri("rtsp://host/a?b=1&c=2", isLooping: true)),
            ("http://host/a.m3u8?b=1", .uri("http://host/a.m3u8?b=1", isLooping: false)),
            ("synthetic.mp4", .uri("synthetic.mp4", isLooping: false)),
        ])
    func forms(_ text: String, _ expected: SourceSpecification) throws {
        #expect(try SourceSpecification(text) == expected)
    }

    @Test(
        "a device identifier is a source if it is a URI, an absolute path, synthetic, null or a screen",
        arguments: [
            ("rtsp://host/a", SourceSpecification.uri("rtsp://host/a", isLooping: false)),
            ("file:/a/film.mp4?loop=1", .uri("file:/a/film.mp4", isLooping: true)),
            ("/a/film.mp4", .uri("/a/film.mp4", isLooping: false)), ("synthetic", .synthetic), ("null", .null),
            ("application:Box", nil), ("application:", nil),
            ("screen::1", .screen(display: ":1")), ("usb-0000:00:14.0-1", nil), ("film.mp4", nil),
            ("/dev/video0", nil), ("camera:1", nil), ("hw:1,0", nil), ("", nil), ("a b://c", nil),
        ] as [(String, SourceSpecification?)])
    func identifiers(_ text: String, _ expected: SourceSpecification?) {
        #expect(SourceSpecification(deviceID: text) == expected)
    }

    @Test("a device identifier names any device that is listed, not only a camera")
    func enumerated() throws {
        for kind in [DeviceConstraint.Kind.ideal, .exact] {
            for id in try SourceDevices.enumerate(.video).filter({ $0.deviceType != .physical }).map(\.id) {
                let request = VideoRequest(constraints: [.deviceID: [DeviceConstraint(.text(id), kind: kind)]])
                #expect(try SourceDevices.select(request).device.info.id == id)
            }
        }
    }

    @Test("a specification's text is parsed as the same specification")
    func description() throws {
        for text in [
            "camera:7", "microphone", "screen::1", "application:A b", "synthetic", "null", "a.mp4?loop=1",
            "b?x=1&loop=1",
        ] {
            #expect(try SourceSpecification(text).description == text)
        }
    }

    @Test(
        "invalid text is rejected",
        arguments: ["", "camera:", "application:", "a\0b", String(repeating: "x", count: 5_000)])
    func nonsense(_ text: String) {
        #expect(throws: DeviceError.self) { try SourceSpecification(text) }
    }

    @Test("missing hardware is named, with advice")
    func notFound() {
        #expect(throws: DeviceError.notFound("camera:no-such", lookedIn: "/dev/video*")) {
            try VideoInput(VideoRequest(.camera(id: "no-such")))
        }
        #expect(throws: DeviceError.notFound("microphone:no-such", lookedIn: "/dev/snd")) {
            try AudioInput(AudioRequest(.microphone(id: "no-such")))
        }
        #expect(DeviceError.notFound("camera:7", lookedIn: "/dev").description.contains("synthetic"))
    }

    @Test("synthetic sources are always listed last", arguments: MediaType.allCases)
    func enumeration(_ mediaType: MediaType) throws {
        let devices = try SourceDevices.enumerate(mediaType)
        #expect(devices.suffix(2).map(\.deviceType) == [.synthetic, .null])
        #expect(devices.allSatisfy { $0.mediaType == mediaType })
        #expect(Set(devices.map(\.id)).count == devices.count)
    }
}
