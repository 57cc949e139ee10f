import Foundation
import Testing

extension Hardware {
    /// The machine itself, on which the other tests depend.
    @Suite("The machine")
    struct MachineTests {
        @Test("cameras, sound cards and their names under /dev exist", .timeLimit(.minutes(5)))
        func devices() throws {
            for node in (0...3).map({ "/dev/video\($0)" }) + ["/dev/snd/controlC0", "/dev/snd/pcmC0D1c"] {
                let attributes = try FileManager.default.attributesOfItem(atPath: node)
                let group = attributes[.groupOwnerAccountName] as? String
                #expect(group == (node.contains("snd") ? "audio" : "video"), "\(node)")
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: "/dev/v4l/by-path")
            #expect(names.contains { $0.hasPrefix("platform-vivid.0") } && names.contains { $0.contains("camctl.1") })
        }

        @Test("unloading a driver removes its devices, and loading it restores them", .timeLimit(.minutes(5)))
        func drivers() throws {
            let node = "/dev/snd/controlC1"
            try Machine.unload("snd-dummy")
            #expect(!FileManager.default.fileExists(atPath: node))
            try Machine.load("snd-dummy")
            #expect(FileManager.default.fileExists(atPath: node))
        }

        @Test("a USB camera can be plugged in, unplugged and plugged in again", .timeLimit(.minutes(5)))
        func plugging() throws {
            for _ in 1...2 {
                let camera = try USBCamera()
                #expect(try Machine.run("v4l2-ctl", ["-d", camera.path, "--list-formats"]).contains("MJPG"))
                try camera.unplug()
            }
        }

        @Test("an accelerometer reports its orientation", .timeLimit(.minutes(5)))
        func turning() throws {
            let accelerometer = try Accelerometer()
            let folder = try #require(Accelerometer.devices.first)
            func reading(_ axis: String) throws -> Int? {
                let text = try String(contentsOfFile: "\(folder)/in_accel_\(axis)_raw", encoding: .utf8)
                return Int(text.trimmingCharacters(in: .whitespacesAndNewlines))
            }
            #expect(try reading("z") == -1_000)
            try accelerometer.turn(x: 981, y: -17, z: 3)
            #expect(try [reading("x"), reading("y"), reading("z")] == [981, -17, 3])
            try accelerometer.unplug()
        }
    }
}

/// Tests on real drivers. They run in the virtual machine only, and one at a time, because there is one machine.
@Suite(.enabled(if: Machine.isHere, "these run in the virtual machine: scripts/machine test"), .serialized)
enum Hardware {}
