import Foundation
import PCastCore
import Testing

@testable import PCastDevices

extension Hardware {
    @Suite("Cameras: flash, focus and other settings while they run")
    struct CameraControlTests {
        /// The back camera, which has a light.
        private let node: CameraNode
        private var configuration = CameraBench.configuration(.yuyv, CameraBench.small)

        init() throws { node = try CameraBench.node("camctl", 1) }

        private func record() throws -> CameraRecording {
            let recording = try CameraRecording(CameraSource(id: node.id, configuration: configuration))
            _ = try recording.next(2)
            return recording
        }

        private func isLit() throws -> Bool { try CameraBench.value(node, "led_mode") == 2 }

        @Test("the light is on while the mode is always on, can change, and is off at the end")
        mutating func flash() throws {
            configuration.flashMode = .alwaysOn
            let recording = try record()
            #expect(try isLit() && recording.source.unmet == [:])
            // The light adds half of its intensity of 128 to the frame.
            #expect(CameraBench.pixel(try recording.next(2)[1], 10, 170)[0] == 164)
            configuration.flashMode = .alwaysOff
            #expect(recording.source.apply(configuration) == [:])
            #expect(try !isLit())
            configuration.flashMode = .alwaysOn
            #expect(recording.source.apply(configuration) == [:])
            #expect(try isLit())
            recording.source.stop()
            #expect(try !isLit())
            #expect(recording.source.apply(configuration) == [:])
            #expect(try !isLit(), "the torch must be off")
        }

        @Test("a light that was already on is off at the end too")
        mutating func leftOn() throws {
            try CameraBench.set(node, "led_mode", 2)
            configuration.flashMode = .alwaysOn
            try record().source.stop()
            #expect(try !isLit())
        }

        @Test(
            "an automatic light turns on in the dark, is tested off, and stays on while it is dark",
            .timeLimit(.minutes(5)))
        mutating func automaticFlash() throws {
            configuration.flashMode = .automatic
            let recording = try record()
            defer {
                recording.source.stop()
                try? CameraBench.set(node, "brightness", 128)
                try? CameraBench.set(node, "intensity_torch_mode", 128)
            }
            #expect(recording.source.unmet == [:])
            #expect(try !isLit())
            try CameraBench.set(node, "intensity_torch_mode", 255)
            try CameraBench.set(node, "brightness", 0)
            try Machine.wait(for: "the light") { try isLit() }
            // The frame is now bright because of the light only, which does not turn the light off.
            _ = try recording.next(130)
            #expect(try isLit())
            #expect(FrameBrightness.mean(of: recording.frames.last!) > 0.22)
            // The room becomes bright.
            try CameraBench.set(node, "brightness", 255)
            try Machine.wait(for: "the light to go out") { try !isLit() }
            _ = try recording.next(60)
            #expect(try !isLit())
        }

        @Test("a missing light is reported, unless off was required")
        func noFlash() throws {
            let front = try CameraBench.node("camctl")
            var configuration = CameraBench.configuration(.yuyv, CameraBench.small)
            configuration.flashMode = .alwaysOn
            let source = try CameraSource(id: front.id, configuration: configuration)
            #expect(source.unmet == [.flashMode: "the camera has no torch"])
            for mode in [FlashMode.automatic, .alwaysOff] {
                configuration.flashMode = mode
                #expect(source.apply(configuration) == [:])
            }
        }

        @Test("a single focus search reaches the target and stays there")
        mutating func focusOnce() throws {
            let recording = try record()
            configuration.autoFocusMode = .autoThenLocked
            configuration.focusTarget = FocusTarget(x: 0.75, y: 0.5)
            #expect(recording.source.apply(configuration) == [:])
            #expect(recording.source.focusState == .searching)
            try Machine.wait(for: "the focus") { recording.source.focusState == .locked }
            // The target is at three quarters of a sensor whose right edge is 250, in steps of five.
            #expect(try CameraBench.value(node, "focus_absolute") == 185)
            #expect(try CameraBench.value(node, "focus_automatic_continuous") == 0)
            // The same request keeps the focus, and another target starts a search.
            #expect(recording.source.apply(configuration) == [:] && recording.source.focusState == .locked)
            configuration.focusTarget = FocusTarget(x: 0.25, y: 0.5)
            #expect(recording.source.apply(configuration) == [:] && recording.source.focusState == .searching)
            try Machine.wait(for: "the focus") { recording.source.focusState == .locked }
            #expect(try CameraBench.value(node, "focus_absolute") == 60)
            recording.source.stop()
            #expect(
                try CameraBench.value(node, "focus_automatic_continuous") == 1,
                "the control must have its previous value")
        }

        @Test("continuous focus follows the target, and a locked one stays")
        mutating func focusModes() throws {
            configuration.autoFocusMode = .continuous
            configuration.focusTarget = FocusTarget(x: 1, y: 1)
            let recording = try record()
            #expect(recording.source.unmet == [:] && recording.source.focusState == .free)
            #expect(try CameraBench.value(node, "focus_automatic_continuous") == 1)
            // The region is a quarter of the sensor, and ends at its edge.
            #expect(try CameraBench.value(node, "focus_absolute") == 215)
            configuration.autoFocusMode = .locked
            #expect(recording.source.apply(configuration) == [:] && recording.source.focusState == .locked)
            #expect(try CameraBench.value(node, "focus_automatic_continuous") == 0)
            configuration.focusTarget = FocusTarget(x: 0, y: 0)
            #expect(recording.source.apply(configuration) == [:])
            #expect(try CameraBench.value(node, "focus_absolute") == 215)
            #expect(recording.source.moveFocus(to: 1) == "the focus is locked")
            // Without a target, the camera focuses on the whole frame again.
            configuration.autoFocusMode = .automatic
            configuration.focusTarget = nil
            #expect(recording.source.apply(configuration) == [:] && recording.source.focusState == .free)
            #expect(try CameraBench.value(node, "focus_absolute") == 125)
            #expect(recording.source.moveFocus(to: 1) == nil)
            #expect(try CameraBench.value(node, "focus_absolute") == 250)
            #expect(recording.source.moveFocus(to: 0.5) == nil)
            #expect(try CameraBench.value(node, "focus_absolute") == 125)
            recording.source.stop()
            #expect(try CameraBench.value(node, "focus_automatic_continuous") == 1)
        }

        @Test("a camera without focus and light reports both as missing")
        func nothing() throws {
            let vivid = try CameraBench.node("vivid")
            var configuration = CameraBench.configuration(.yuyv, CameraBench.small)
            let source = try CameraSource(id: vivid.id, configuration: configuration)
            #expect(source.unmet == [:])
            configuration.focusTarget = FocusTarget(x: 0.5, y: 0.5)
            for mode in [AutoFocusMode.locked, .continuous, .autoThenLocked] {
                configuration.autoFocusMode = mode
                #expect(Set(source.apply(configuration).keys) == [.autoFocusMode, .autoFocusTarget])
            }
            configuration.autoFocusMode = .automatic
            #expect(source.apply(configuration) == [.autoFocusTarget: "the camera has no region of interest"])
            #expect(source.moveFocus(to: 0.5) != nil)
        }

        @Test("in the dark a camera lowers its rate, unless a constant rate is required")
        func rateInTheDark() throws {
            try CameraBench.set(node, "brightness", 32)
            try CameraBench.set(node, "exposure_dynamic_framerate", 1)
            defer {
                try? CameraBench.set(node, "brightness", 128)
                try? CameraBench.set(node, "exposure_dynamic_framerate", 0)
            }
            for (isHeld, rate) in [(false, 15.0), (true, 30.0)] {
                let source = try CameraSource(id: node.id, configuration: configuration, locksFrameRate: isHeld)
                let recording = try CameraRecording(source)
                let frames = try recording.next(11)
                source.stop()
                let span = (frames[10].captureTime! - frames[1].captureTime!).seconds
                #expect(abs(9 / span - rate) < 1)
                #expect(source.nominalFrameRate == 30)
                #expect(
                    try CameraBench.value(node, "exposure_dynamic_framerate") == 1,
                    "the control must have its previous value")
            }
        }

        @Test("settings of a camera that vanishes have no effect")
        mutating func vanished() throws {
            configuration.flashMode = .alwaysOn
            configuration.autoFocusMode = .autoThenLocked
            let recording = try record()
            try CameraBench.unplug(1)
            _ = try recording.waitForEnd()
            #expect(recording.source.apply(configuration) == [:])
            #expect(!recording.source.requestKeyFrame() && recording.source.moveFocus(to: 0.5) != nil)
            try CameraBench.plug(1)
            #expect(try !isLit())
        }
    }
}
