import PCastCore
import Testing

@testable import PCastDevices

@Suite("Sources as text")
struct SourceSpecificationTests {
    @Test(
        "each form has its specified meaning",
        arguments: [
            ("camera", SourceSpecification.camera(id: nil)), ("camera:/dev/video2", .camera(id: "/dev/video2")),
            ("microphone", .microphone(id: nil)), ("microphone:hw:1,0", .microphone(id: "hw:1,0")),
            ("screen", .screen(display: nil)), ("screen::1", .screen(display: ":1")), ("synthetic", .synthetic),
            ("null", .null), ("film.mp4", .uri("film.mp4", isLooping: false)),
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
        for text in ["camera:7", "microphone", "screen::1", "synthetic", "null", "a.mp4?loop=1", "b?x=1&loop=1"] {
            #expect(try SourceSpecification(text).description == text)
        }
    }

    @Test("invalid text is rejected", arguments: ["", "camera:", "a\0b", String(repeating: "x", count: 5_000)])
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
