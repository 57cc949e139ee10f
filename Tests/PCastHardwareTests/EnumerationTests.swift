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
