import Foundation
import PCastCore
import PCastDevices
import Testing

extension Hardware {
    @Suite("Enumeration, and devices that appear and disappear")
    struct EnumerationTests {
        @Test(
            "hardware is listed first, then synthetic sources, each under its own identifier",
            arguments: [MediaType.video, .audio])
        func kinds(_ mediaType: MediaType) throws {
            let devices = try SourceDevices.enumerate(mediaType)
            let physical = devices.prefix { $0.deviceType == .physical }
            #expect(physical.count >= (mediaType == .video ? 4 : 2))
            #expect(devices.dropFirst(physical.count).allSatisfy { $0.deviceType != .physical })
            #expect(Set(devices.map(\.deviceType)).isSuperset(of: [.physical, .synthetic, .null]))
            #expect(Set(devices.map(\.id)).count == devices.count)
            #expect(devices.allSatisfy { $0.mediaType == mediaType && !$0.name.isEmpty })
        }

        @Test(
            "a USB camera has one identifier for each serial number, whenever it is plugged in", .timeLimit(.minutes(5))
        )
        func serialNumbers() throws {
            let before = try ids(.video)
            var seen: [Set<String>] = []
            for serialNumber in ["0001", "0001", "0002"] {
                let camera = try USBCamera(serialNumber: serialNumber)
                let device = try #require(SourceDevices.enumerate(.video).first { !before.contains($0.id) })
                #expect(device.name == "Test UVC camera" && device.deviceType == .physical)
                // USB has no information on the direction of a camera.
                #expect(device.facingMode == .undefined)
                // One of its nodes is for metadata.
                seen.append(try ids(.video).subtracting(before))
                try camera.unplug()
                #expect(try ids(.video) == before)
            }
            #expect(seen.allSatisfy { $0.count == 1 } && seen[0] == seen[1] && seen[1] != seen[2])
        }

        @Test("cameras that appear and disappear are reported once each", .timeLimit(.minutes(5)))
        func cameras() async throws {
            var changes = try SourceDevices.changes(.video).makeAsyncIterator()
            let vivid = try SourceDevices.enumerate(.video).filter { $0.name == "vivid" }
            #expect(vivid.count == 2)
            try Machine.unload("vivid")
            var received: Set<SourceDeviceChange> = [
                try #require(await changes.next()), try #require(await changes.next()),
            ]
            #expect(received == Set(vivid.map { .departed($0) }))
            try Machine.load("vivid")
            received = [try #require(await changes.next()), try #require(await changes.next())]
            #expect(received == Set(vivid.map { .arrived($0) }))

            let camera = try USBCamera()
            let arrival = try #require(await changes.next())
            guard case .arrived(let device) = arrival, device.name == "Test UVC camera" else {
                throw Machine.Failure(description: "\(arrival)")
            }
            try camera.unplug()
            #expect(await changes.next() == .departed(device))
        }

        @Test("microphones that appear and disappear are reported once each", .timeLimit(.minutes(5)))
        func microphones() async throws {
            var changes = try SourceDevices.changes(.audio).makeAsyncIterator()
            let before = try SourceDevices.enumerate(.audio)
            try Machine.unload("snd-dummy")
            let departure = try #require(await changes.next())
            #expect(departure.device.id == "CARD=Dummy,DEV=0" && before.contains(departure.device))
            #expect(departure == .departed(departure.device))
            try Machine.load("snd-dummy")
            #expect(await changes.next() == .arrived(departure.device))
            #expect(try SourceDevices.enumerate(.audio) == before)
        }

        private func ids(_ mediaType: MediaType) throws -> Set<String> {
            Set(try SourceDevices.enumerate(mediaType).map(\.id))
        }
    }
}

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
