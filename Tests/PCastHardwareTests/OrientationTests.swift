import Foundation
import PCastCodecs
import PCastCore
import Testing

@testable import PCastDevices

extension Hardware {
    /// The machine as a tablet. Tests rotate an accelerometer of the kernel's HID sensor drivers.
    @Suite("Frames stay upright when the device is rotated")
    struct OrientationTests {
        /// The direction of gravity for each clockwise quarter of the device, in thousandths.
        private static let gravity = [(0, -1_000, 0), (1_000, 0, 0), (0, 1_000, 0), (-1_000, 0, 0)]

        private static func constraints(
            _ mode: VideoSourceRotationMode, _ facing: FacingMode
        ) -> DeviceConstraints {
            [
                .videoSourceRotationMode: [DeviceConstraint(.rotationMode(mode))],
                .facingMode: [DeviceConstraint(.facingMode(facing), kind: .exact)],
                .height: [DeviceConstraint(.number(360), kind: .exact)],
                .flashMode: [DeviceConstraint(.flashMode(.alwaysOff))],
            ]
        }

        @Test(
            "frames that follow the device rotate with it, and those of the front camera the other way",
            .timeLimit(.minutes(5)), arguments: [FacingMode.environment, .user])
        func followDevice(_ facing: FacingMode) throws {
            let accelerometer = try Accelerometer(x: 0, y: -1_000, z: 0)
            defer { try? accelerometer.unplug() }
            let cameras = try SourceDevices.list(.video).filter { $0.info.deviceType == .physical }
            #expect(
                cameras.allSatisfy {
                    guard case .video(let capabilities) = $0.capabilities else { return false }
                    return capabilities.canFollowDevice
                })
            for mode in [VideoSourceRotationMode.followDeviceRotation, .automatic] {
                let recording = try InputRecording(nil, Self.constraints(mode, facing))
                defer { recording.input.stop() }
                try accelerometer.turn(x: 0, y: -1_000, z: 0)
                try recording.frame("an upright frame") { $0.isKnownFrame() }
                for quarters in [1, 2, 3, 0] {
                    let (x, y, z) = Self.gravity[quarters]
                    try accelerometer.turn(x: x, y: y, z: z)
                    let turns = facing == .environment ? quarters : (4 - quarters) % 4
                    let frame = try recording.frame("a frame turned by \(turns) quarters") {
                        $0.isKnownFrame(turns: turns)
                    }
                    let upright = CameraBench.large
                    #expect(frame.dimensions == upright.turned(by: turns))
                    #expect(recording.input.dimensions == frame.dimensions)
                }
                // On its back, the device keeps the last orientation.
                try accelerometer.turn(x: 1_000, y: 0, z: 0)
                let turns = facing == .environment ? 1 : 3
                try recording.frame("a turned frame") { $0.isKnownFrame(turns: turns) }
                try accelerometer.turn(x: 0, y: 0, z: -1_000)
                let count = recording.count
                try Machine.wait(for: "a second of frames") { recording.count >= count + 30 }
                try recording.frame("the same") { $0.isKnownFrame(turns: turns) }
                #expect(recording.input.unmet[.videoSourceRotationMode] == nil && recording.backwards == 0)
            }
        }

        @Test("frames that follow the user interface ignore the device's rotation", .timeLimit(.minutes(5)))
        func followInterface() throws {
            let accelerometer = try Accelerometer(x: 1_000, y: 0, z: 0)
            defer { try? accelerometer.unplug() }
            let recording = try InputRecording(nil, Self.constraints(.followUIRotation, .environment))
            defer { recording.input.stop() }
            let count = recording.count
            try Machine.wait(for: "a second of frames") { recording.count >= count + 30 }
            try recording.frame("an upright frame") { $0.isKnownFrame() }
            recording.input.setUserInterfaceRotation(.clockwise90)
            try recording.frame("a frame turned with the interface") { $0.isKnownFrame(turns: 1) }
        }

        @Test("following the device without an accelerometer is reported as unmet", .timeLimit(.minutes(5)))
        func nothingToFollow() throws {
            #expect(Accelerometer.devices.isEmpty)
            let recording = try InputRecording(nil, Self.constraints(.followDeviceRotation, .environment))
            defer { recording.input.stop() }
            try recording.frame("an upright frame") { $0.isKnownFrame() }
            #expect(recording.input.unmet[.videoSourceRotationMode] != nil)
        }

        @Test(
            "frames keep their rotation without the accelerometer, and follow its return", .timeLimit(.minutes(5))
        )
        func unplugged() throws {
            var accelerometer = try Accelerometer(x: 1_000, y: 0, z: 0)
            defer { try? accelerometer.unplug() }
            let recording = try InputRecording(nil, Self.constraints(.automatic, .environment))
            defer { recording.input.stop() }
            try recording.frame("a turned frame") { $0.isKnownFrame(turns: 1) }
            try accelerometer.unplug()
            let count = recording.count
            try Machine.wait(for: "a second of frames") { recording.count >= count + 30 }
            try recording.frame("the same") { $0.isKnownFrame(turns: 1) }
            accelerometer = try Accelerometer(x: 0, y: 1_000, z: 0)
            try recording.frame("a frame on its head") { $0.isKnownFrame(turns: 2) }
        }
    }
}
