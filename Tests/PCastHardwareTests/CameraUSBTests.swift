import Foundation
import PCastCodecs
import PCastCore
import Testing

@testable import PCastDevices

extension Hardware {
    @Suite("Cameras: USB and encoded frames")
    struct CameraUSBTests {
        private static let id = "usb-PCast_Test_UVC_camera_0001-video-index0"
        private static let quarters = [[200, 128, 128], [150, 90, 200], [100, 60, 60], [60, 220, 110]]

        /// Returns a position in the middle of each quarter.
        private static func seen(_ frame: VideoFrame) -> [[Int]] {
            let (width, height) = (frame.dimensions.width, frame.dimensions.height)
            return [(1, 1), (3, 1), (1, 3), (3, 3)].map { x, y in
                CameraBench.pixel(frame, x * width / 4, y * height / 4)
            }
        }

        @Test("a USB camera is known by vendor, product and serial number at every port", .timeLimit(.minutes(5)))
        func identity() throws {
            let camera = try USBCamera()
            let device = try #require(Cameras.enumerate().first { $0.info.id == Self.id })
            #expect(device.info.name == "Test UVC camera")
            #expect(device.identity.serial == "0001" && device.identity.name == "Test UVC camera")
            #expect(device.identity.vendor?.count == 4 && device.identity.product?.count == 4)
            let node = try CameraBench.node("uvcvideo")
            #expect(node.names.first == Self.id && node.names.contains { $0.hasPrefix("platform-dummy_hcd") })
            for name in node.names.prefix(2) {
                let links = ["/dev/v4l/by-id/", "/dev/v4l/by-path/"].filter {
                    FileManager.default.fileExists(atPath: $0 + name)
                }
                #expect(links.count == 1, "udev has a link \(name)")
            }
            try camera.unplug()
            // Another camera of the same kind is at the same port.
            let other = try USBCamera(serialNumber: "0002")
            #expect(try CameraBench.node("uvcvideo").id == "usb-PCast_Test_UVC_camera_0002-video-index0")
            #expect(Cameras.identifier(of: Self.id) == nil)
            #expect(Cameras.identifier(of: node.names[1]) == "usb-PCast_Test_UVC_camera_0002-video-index0")
            try other.unplug()
        }

        @Test("YUYV and JPEG show the same frame, each in its range", .timeLimit(.minutes(5)))
        func ranges() throws {
            let camera = try USBCamera()
            defer { try? camera.unplug() }
            let capabilities = try CameraBench.capabilities(Self.id)
            #expect(Set(capabilities.formats.map(\.encoding)) == [.yuyv, .mjpeg])
            #expect(capabilities.autoFocusModes == [.locked, .autoThenLocked, .continuous])
            let raw = try CameraRecording.frames(3, of: Self.id, CameraBench.configuration(.yuyv, CameraBench.small))
            #expect(Self.seen(raw.frames[2]) == Self.quarters)
            // JPEG has the same values in full range.
            let expected = Self.quarters.map { colour in
                [16 + (colour[0] * 219 + 127) / 255]
                    + colour.dropFirst().map { 128 + Int((Double($0 - 128) * 224 / 255).rounded()) }
            }
            for size in [CameraBench.small, CameraBench.large] {
                // The first frames may be left over from the previous format.
                let coded = try CameraRecording.frames(8, of: Self.id, CameraBench.configuration(.mjpeg, size))
                let last = coded.frames[7]
                #expect(coded.source.dimensions == size && last.dimensions == size)
                #expect(!CameraBench.differ(Self.seen(last).flatMap(\.self), expected.flatMap(\.self), by: 1))
                #expect(coded.source.statistics.damaged <= 4 && coded.source.nominalFrameRate == 30)
            }
        }

        @Test("a USB camera that is unplugged vanishes within a second, and returns as the same camera")
        func unplugged() throws {
            let camera = try USBCamera()
            let recording = try CameraRecording(
                CameraSource(id: Self.id, configuration: CameraBench.configuration(.mjpeg, CameraBench.large)))
            _ = try recording.next(5)
            let before = ProcessInfo.processInfo.systemUptime
            try camera.unplug()
            #expect(try recording.waitForEnd() == .vanished("Test UVC camera was unplugged"))
            #expect(recording.endedAt! - before < 1)
            let again = try USBCamera()
            let (_, frames) = try CameraRecording.frames(
                3, of: Self.id, CameraBench.configuration(.mjpeg, CameraBench.large))
            #expect(frames.count == 3)
            try again.unplug()
        }

        @Test("a USB camera's focus can be locked, continuous, and searched once")
        func focus() throws {
            let camera = try USBCamera()
            defer { try? camera.unplug() }
            let node = try CameraBench.node("uvcvideo")
            var configuration = CameraBench.configuration(.yuyv, CameraBench.small)
            configuration.autoFocusMode = .locked
            let recording = try CameraRecording(CameraSource(id: Self.id, configuration: configuration))
            _ = try recording.next(2)
            #expect(recording.source.unmet == [:] && recording.source.focusState == .locked)
            #expect(try CameraBench.value(node, "focus_automatic_continuous") == 0)
            configuration.autoFocusMode = .autoThenLocked
            #expect(recording.source.apply(configuration) == [:] && recording.source.focusState == .searching)
            #expect(try CameraBench.value(node, "focus_automatic_continuous") == 1)
            // The camera does not report the end of its search.
            try Machine.wait(for: "the focus") { recording.source.focusState == .locked }
            #expect(try CameraBench.value(node, "focus_automatic_continuous") == 0)
            configuration.focusTarget = FocusTarget(x: 0.5, y: 0.5)
            configuration.flashMode = .alwaysOn
            #expect(Set(recording.source.apply(configuration).keys) == [.autoFocusTarget, .flashMode])
            recording.source.stop()
            #expect(
                try CameraBench.value(node, "focus_automatic_continuous") == 1,
                "the control must have its previous value")
        }

        /// Runs `body` with a camera that encodes its frames: FFmpeg writes them into a loopback device.
        private static func withCodedCamera(
            _ arguments: [String], _ body: (CameraNode, MachineProgram) throws -> Void
        ) throws {
            try Machine.load("v4l2loopback", "exclusive_caps=0")
            defer { try? Machine.unload("v4l2loopback") }
            let writer = try MachineProgram(
                "ffmpeg",
                ["-loglevel", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=15"] + arguments + [
                    "-f", "v4l2", "/dev/video40",
                ])
            defer { writer.end() }
            try Machine.wait(for: "the coded camera") {
                guard let node = CameraBench.nodes("v4l2 loopback").first else { return false }
                return try CameraBench.capabilities(node.id).formats.contains { $0.encoding == .h264 }
            }
            try body(try CameraBench.node("v4l2 loopback"), writer)
        }

        private static let h264 = [
            "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-bf", "0", "-g", "15",
        ]

        @Test(
            "H.264 of a camera is decoded, or passed through with parameter sets before each key frame",
            .timeLimit(.minutes(5)))
        func h264() throws {
            try Self.withCodedCamera(Self.h264) { node, _ in
                let configuration = CameraBench.configuration(.h264, CameraBench.small, 15)
                let decoded = try CameraRecording(CameraSource(id: node.id, configuration: configuration))
                #expect(try decoded.next(10).allSatisfy { $0.dimensions == CameraBench.small })
                decoded.source.stop()
                #expect(decoded.coded.isEmpty)

                let passed = try CameraRecording(
                    CameraSource(id: node.id, configuration: configuration, passesThrough: true))
                try Machine.wait(for: "coded pictures") { passed.coded.count >= 40 }
                passed.source.stop()
                #expect(passed.frames.isEmpty && passed.source.transcodeReason == nil)
                #expect(!passed.source.requestKeyFrame(), "a stopped source requests no key frame")
                let frames = passed.coded
                #expect(frames[0].isKeyFrame && frames.filter(\.isKeyFrame).count >= 2)
                let decoder = try H264Decoder()
                for frame in frames {
                    let unit = H264AccessUnit(frame.bytes)
                    #expect(unit.isKeyFrame == frame.isKeyFrame && !unit.isDamaged)
                    if frame.isKeyFrame { #expect(unit.hasSequenceParameterSet && unit.hasPictureParameterSet) }
                    #expect(try decoder.decode(frame).count == 1)
                }
            }
        }

        @Test("H.264 with reordered frames is decoded, and the reason is reported", .timeLimit(.minutes(5)))
        func reordered() throws {
            try Self.withCodedCamera(["-c:v", "libx264", "-preset", "ultrafast", "-bf", "2", "-g", "15"]) { node, _ in
                let configuration = CameraBench.configuration(.h264, CameraBench.small, 15)
                let recording = try CameraRecording(
                    CameraSource(id: node.id, configuration: configuration, passesThrough: true))
                _ = try recording.next(10)
                recording.source.stop()
                #expect(recording.source.transcodeReason == .hasReordering)
            }
        }
    }
}
