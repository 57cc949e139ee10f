import Foundation
import Testing

extension Hardware {
    /// The machine itself: what the other tests take for granted.
    @Suite("The machine")
    struct MachineTests {
        @Test("Cameras, sound cards and their names under /dev are there", .timeLimit(.minutes(1)))
        func devices() throws {
            for node in ["/dev/video0", "/dev/video1", "/dev/video2", "/dev/snd/controlC0", "/dev/snd/pcmC0D1c"] {
                #expect(FileManager.default.fileExists(atPath: node), "\(node)")
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: "/dev/v4l/by-path")
            #expect(names.contains { $0.hasPrefix("platform-vivid") } && names.contains { $0.contains("camctl") })
        }

        @Test("A driver that is unloaded takes its devices along, and loaded brings them back", .timeLimit(.minutes(1)))
        func hotplug() throws {
            let node = "/dev/snd/controlC1"
            try Machine.unload("snd-dummy")
            #expect(!FileManager.default.fileExists(atPath: node))
            try Machine.load("snd-dummy")
            #expect(FileManager.default.fileExists(atPath: node))
        }
    }
}
