import Foundation
import PCastCore
import PCastIO
import Synchronization
import Testing

@testable import PCastDevices

extension Hardware {
    /// A track continues when its device ends.
    @Suite("A track and the loss of its device")
    struct InputTests {
        private static let front = "platform-camctl.0-video-index0"
        private static let back = "platform-camctl.1-video-index0"

        private static func size(_ size: Dimensions) -> DeviceConstraints {
            [
                .width: [DeviceConstraint(.number(Double(size.width)), kind: .exact)],
                .height: [DeviceConstraint(.number(Double(size.height)), kind: .exact)],
                .flashMode: [DeviceConstraint(.flashMode(.alwaysOff))],
            ]
        }

        private static func check(_ recording: InputRecording) {
            #expect(recording.backwards == 0 && recording.end == nil)
        }

        @Test("an unplugged camera is black at once, and shows its frames when it returns", .timeLimit(.minutes(5)))
        func unplugged() throws {
            let recording = try InputRecording(Self.front, Self.size(CameraBench.large))
            defer { recording.input.stop() }
            try recording.frame("a frame") { $0.isKnownFrame() }
            try CameraBench.unplug(0)
            #expect(try recording.frame("black") { $0.isBlack }.dimensions == CameraBench.large)
            #expect(!recording.input.isOpen)
            let count = recording.count
            try Machine.wait(for: "black frames that continue") { recording.count >= count + 15 }
            try CameraBench.plug(0)
            try recording.frame("a frame after it came back") { $0.isKnownFrame() }
            #expect(recording.input.isOpen && recording.longestGap < .seconds(1))
            Self.check(recording)
        }

        @Test("an unplugged USB camera with JPEG frames is black, and returns", .timeLimit(.minutes(5)))
        func unpluggedUSB() throws {
            var camera = try USBCamera()
            defer { try? camera.unplug() }
            let device = try #require(SourceDevices.enumerate(.video).first { $0.name == "Test UVC camera" })
            // The camera has this size in MJPEG only.
            let recording = try InputRecording(device.id, Self.size(CameraBench.large))
            defer { recording.input.stop() }
            #expect(recording.input.selection?.configuration.encoding == .mjpeg)
            // Full range is converted to limited: 16 + Y * 219 / 255, 128 + (C - 128) * 224 / 255.
            let limited = [[188, 128, 128], [145, 95, 191], [102, 68, 68], [68, 209, 112]]
            func isImage(_ frame: VideoFrame) -> Bool {
                zip(frame.quarters, limited).allSatisfy { !CameraBench.differ($0, $1, by: 3) }
            }
            try recording.frame("a frame", where: isImage)
            try camera.unplug()
            try recording.frame("black") { $0.isBlack }
            camera = try USBCamera()
            try recording.frame("a frame after it came back", where: isImage)
            Self.check(recording)
        }

        @Test("an unplugged microphone is silent, and continues when it returns", .timeLimit(.minutes(5)))
        func unpluggedMicrophone() throws {
            let id = "CARD=Dummy,DEV=0"
            let input = try AudioInput(AudioRequest(.microphone(id: id)))
            let frames = Counter()
            let ends = Counter()
            try input.start(deliver: { _ in frames.add() }, ended: { _ in ends.add() })
            defer { input.stop() }
            try Machine.wait(for: "sound") { frames.value > 10 }
            // rmmod refuses while the card is open. Unbinding does not check that.
            try "snd_dummy.0".write(
                toFile: "/sys/bus/platform/drivers/snd_dummy/unbind", atomically: false, encoding: .utf8)
            try Machine.wait(for: "the end of the card") { !input.isOpen }
            let count = frames.value
            try Machine.wait(for: "silence that continues") { frames.value >= count + 25 }
            try "snd_dummy.0".write(
                toFile: "/sys/bus/platform/drivers/snd_dummy/bind", atomically: false, encoding: .utf8)
            try Machine.wait(for: "the card to be open again") { input.isOpen }
            let later = frames.value
            try Machine.wait(for: "audio that continues") { frames.value >= later + 25 }
            #expect(ends.value == 0)
        }

        @Test("the default microphone continues after a long pause of its consumer", .timeLimit(.minutes(5)))
        func overrun() throws {
            // Unlike a card's own device, it is shared through alsa-lib's dsnoop.
            let input = try AudioInput(AudioRequest(.microphone(id: "default")))
            let (frames, ends) = (Counter(), Counter())
            try input.start(
                deliver: { _ in
                    frames.add()
                    if frames.value == 10 { FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(1_500)) }
                }, ended: { _ in ends.add() })
            defer { input.stop() }
            try Machine.wait(for: "audio that continues") { frames.value > 100 || ends.value > 0 }
            #expect(ends.value == 0 && input.isOpen)
        }

        @Test("the size changes while a track runs, without an end", .timeLimit(.minutes(5)))
        func otherSize() throws {
            let recording = try InputRecording(Self.front, Self.size(CameraBench.small))
            defer { recording.input.stop() }
            for size in [CameraBench.small, CameraBench.large, CameraBench.small] {
                try recording.input.apply(
                    VideoRequest(.camera(id: Self.front), constraints: Self.size(size)))
                try recording.frame("a frame of \(size)") { $0.dimensions == size && $0.isKnownFrame() }
                #expect(recording.input.dimensions == size)
            }
            // Unavailable constraints change nothing.
            #expect(throws: DeviceError.self) {
                try recording.input.apply(
                    VideoRequest(
                        .camera(id: Self.front), constraints: Self.size(Dimensions(width: 1_920, height: 1_080))))
            }
            try recording.frame("a frame as before") { $0.dimensions == CameraBench.small && $0.isKnownFrame() }
            #expect(recording.longestGap < .seconds(1))
            Self.check(recording)
        }

        @Test("the back camera replaces the front camera, with its light", .timeLimit(.minutes(5)))
        func swap() throws {
            var constraints = Self.size(CameraBench.large)
            func facing(_ mode: FacingMode) -> [DeviceConstraint] {
                [DeviceConstraint(.facingMode(mode), kind: .exact)]
            }
            constraints[.facingMode] = facing(.user)
            let recording = try InputRecording(nil, constraints)
            defer { recording.input.stop() }
            #expect(recording.input.selection?.device.info.id == Self.front)
            try recording.frame("a frame") { $0.isKnownFrame() }
            constraints[.facingMode] = facing(.environment)
            constraints[.flashMode] = [DeviceConstraint(.flashMode(.alwaysOn))]
            try recording.input.apply(VideoRequest(.camera(id: nil), constraints: constraints))
            #expect(recording.input.selection?.device.info.id == Self.back)
            let torch = try #require(try CameraBench.value(CameraBench.node("camctl", 1), "intensity_torch_mode"))
            try recording.frame("a frame in its light") { $0.isKnownFrame(brighter: torch / 2) }
            constraints[.flashMode] = [DeviceConstraint(.flashMode(.alwaysOff))]
            try recording.input.apply(VideoRequest(.camera(id: nil), constraints: constraints))
            try recording.frame("a frame without") { $0.isKnownFrame() }
            // The front camera was released.
            try CameraSource(id: Self.front).stop()
            Self.check(recording)
        }

        @Test("a paused track releases its camera, and opens it again", .timeLimit(.minutes(5)))
        func rest() throws {
            let recording = try InputRecording(Self.front, Self.size(CameraBench.large))
            defer { recording.input.stop() }
            try recording.frame("a frame") { $0.isKnownFrame() }
            #expect(throws: DeviceError.busy("camctl front")) {
                try VideoInput(VideoRequest(.camera(id: Self.front)))
            }
            recording.input.rest()
            let count = recording.count
            let other = try VideoInput(VideoRequest(.camera(id: Self.front)))
            // While another client uses the camera, the track is black.
            recording.input.resume()
            try recording.frame("black") { $0.isBlack }
            other.stop()
            try recording.frame("a frame again") { $0.isKnownFrame() }
            #expect(recording.count > count)
            Self.check(recording)
        }

        @Test("a track survives every fault of its driver", .timeLimit(.minutes(5)))
        func driverFaults() throws {
            let recording = try InputRecording(Self.front, Self.size(CameraBench.large))
            defer {
                recording.input.stop()
                try? CameraBench.lie("none")
            }
            for lie in ["short", "empty", "long", "past", "future", "frozen", "zero", "error", "none"] {
                let before = try CameraBench.value(CameraBench.node("camctl"), "brightness")
                try CameraBench.lie(lie)
                // The wait includes another ioctl and the time of fifteen frames.
                #expect(try CameraBench.value(CameraBench.node("camctl"), "brightness") == before)
                FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(500))
                #expect(recording.end == nil, "\(lie)")
            }
            try recording.frame("a frame") { $0.isKnownFrame() }
            Self.check(recording)
        }
    }
}
