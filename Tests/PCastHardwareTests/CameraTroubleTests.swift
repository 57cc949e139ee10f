import Foundation
import PCastCore
import Testing

@testable import PCastDevices

extension Hardware {
    @Suite("Cameras: trouble")
    struct CameraTroubleTests {
        private static func record(_ id: String, _ size: Dimensions = CameraBench.small) throws -> CameraRecording {
            try CameraRecording(CameraSource(id: id, configuration: CameraBench.configuration(.yuyv, size)))
        }

        @Test("A camera that is unplugged while it streams has vanished within a second, and is back when it is")
        func unplugged() throws {
            let camera = try CameraBench.node("camctl")
            let recording = try Self.record(camera.id)
            _ = try recording.next(3)
            let before = ProcessInfo.processInfo.systemUptime
            try CameraBench.unplug(0)
            #expect(try recording.waitForEnd() == .vanished("camctl front was unplugged"))
            #expect(recording.endedAt! - before < 1)
            #expect(throws: DeviceError.notFound("camera:\(camera.id)", lookedIn: "/dev/video*")) {
                try CameraSource(id: camera.id)
            }
            let count = recording.count
            // The program lets go of it, so it comes back under its own node.
            try CameraBench.plug(0)
            #expect(try CameraBench.node("camctl").path == camera.path)
            let again = try Self.record(camera.id)
            _ = try again.next(3)
            again.source.stop()
            recording.source.stop()
            #expect(recording.count == count && recording.endCount == 1 && again.endCount == 0)
        }

        @Test("A camera that its driver disconnects has vanished")
        func disconnected() throws {
            let camera = try CameraBench.node("vivid")
            defer {
                try? Machine.unload("vivid")
                try? Machine.load("vivid")
            }
            let recording = try Self.record(camera.id)
            _ = try recording.next(3)
            let before = ProcessInfo.processInfo.systemUptime
            try CameraBench.set(camera, "disconnect", 1)
            #expect(try recording.waitForEnd() == .vanished("vivid was unplugged"))
            #expect(recording.endedAt! - before < 1)
        }

        @Test(
            "Errors of the queue are mended by beginning anew",
            arguments: ["inject_fatal_streaming_error", "inject_vidioc_qbuf_error"])
        func queueError(_ control: String) throws {
            let camera = try CameraBench.node("vivid")
            let recording = try Self.record(camera.id)
            defer { recording.source.stop() }
            _ = try recording.next(3)
            try CameraBench.set(camera, control, 1)
            try Machine.wait(for: "the restart") { recording.source.statistics.restarted == 1 }
            #expect(try recording.next(5).count == 5)
            #expect(recording.end == nil && recording.source.statistics.restarted == 1)
        }

        @Test("A picture that the driver flags once is left out")
        func flagged() throws {
            let camera = try CameraBench.node("vivid")
            let recording = try Self.record(camera.id)
            defer { recording.source.stop() }
            _ = try recording.next(3)
            try CameraBench.set(camera, "inject_v4l2_buf_flag_error", 1)
            try Machine.wait(for: "the damage") { recording.source.statistics.damaged == 1 }
            _ = try recording.next(3)
            #expect(recording.source.statistics.damaged == 1 && recording.source.statistics.restarted == 0)
        }

        @Test(
            "Pictures that the driver calls broken, or that cannot be whole, are left out and counted",
            arguments: ["short", "empty", "long", "error"])
        func broken(_ lie: String) throws {
            let camera = try CameraBench.node("camctl")
            let recording = try Self.record(camera.id)
            defer {
                recording.source.stop()
                try? CameraBench.lie("none")
            }
            _ = try recording.next(3)
            #expect(recording.source.statistics.damaged == 0)
            try CameraBench.lie(lie)
            try Machine.wait(for: "damaged pictures") { recording.source.statistics.damaged >= 10 }
            try CameraBench.lie("none")
            let pictures = try recording.next(3)
            #expect(pictures.count == 3 && recording.end == nil)
            #expect(pictures.allSatisfy { CameraBench.pixel($0, 10, 10) == [200, 128, 128] })
            let statistics = recording.source.statistics
            #expect(statistics.dropped == 0 && statistics.restarted == 0)
        }

        @Test(
            "Times that cannot be are replaced by the moment, and counted",
            arguments: ["past", "future", "frozen", "zero"])
        func times(_ lie: String) throws {
            let camera = try CameraBench.node("camctl")
            try CameraBench.lie(lie)
            defer { try? CameraBench.lie("none") }
            let recording = try Self.record(camera.id)
            let before = Date().timeIntervalSince1970
            _ = try recording.next(25)
            recording.source.stop()
            let after = Date().timeIntervalSince1970
            let pictures = recording.pictures
            for (first, second) in zip(pictures, pictures.dropFirst()) {
                #expect(first.timestamp.ticks < second.timestamp.ticks)
                #expect((second.captureTime! - first.captureTime!).seconds < 0.5)
            }
            for picture in pictures {
                let time = Double(picture.captureTime!.nanosecondsSinceEpoch) / 1e9
                #expect(before - 0.5 < time && time < after + 0.1)
            }
            let (retimed, captured) = (recording.source.statistics.retimed, recording.source.statistics.captured)
            switch lie {
            case "past", "future": #expect(retimed >= captured / 10 && retimed <= captured / 10 + 1)
            case "frozen": #expect(retimed >= captured - 1)
            default: #expect(retimed == captured)
            }
        }

        @Test("A size that was never listed is taken as the driver sets it")
        func otherSize() throws {
            let camera = try CameraBench.node("camctl")
            try CameraBench.lie("size")
            defer { try? CameraBench.lie("none") }
            let recording = try Self.record(camera.id)
            defer { recording.source.stop() }
            let size = Dimensions(width: 160, height: 120)
            #expect(recording.source.dimensions == size)
            #expect(try recording.next(3).allSatisfy { $0.dimensions == size })
        }

        @Test("Rows without a length are as long as their pixels")
        func stride() throws {
            let camera = try CameraBench.node("camctl")
            try CameraBench.lie("stride")
            defer { try? CameraBench.lie("none") }
            let recording = try Self.record(camera.id)
            defer { recording.source.stop() }
            let picture = try recording.next(2)[1]
            #expect(CameraBench.pixel(picture, 300, 170) == [60, 220, 110])
        }

        @Test("A camera that gives nothing any more is begun anew, and then has failed", .timeLimit(.minutes(5)))
        func silent() throws {
            let camera = try CameraBench.node("camctl")
            defer { try? CameraBench.lie("none") }
            let recording = try Self.record(camera.id)
            _ = try recording.next(3)
            try CameraBench.lie("silent")
            try Machine.wait(for: "the restart") { recording.source.statistics.restarted == 1 }
            #expect(recording.end == nil)
            #expect(try recording.waitForEnd() == .failed("camctl front does not work: it delivers no frames"))
            try CameraBench.lie("none")
            // It was given back.
            let again = try Self.record(camera.id)
            _ = try again.next(2)
            again.source.stop()
        }

        @Test("A camera that hangs for a while goes on", .timeLimit(.minutes(5)))
        func hanging() throws {
            let camera = try CameraBench.node("camctl")
            defer { try? CameraBench.lie("none") }
            let recording = try Self.record(camera.id)
            defer { recording.source.stop() }
            for restarts in 1...2 {
                _ = try recording.next(3)
                try CameraBench.lie("silent")
                try Machine.wait(for: "the restart") { recording.source.statistics.restarted == restarts }
                try CameraBench.lie("none")
            }
            #expect(try recording.next(3).count == 3 && recording.end == nil)
        }

        @Test("Drivers that refuse are told with their reason", arguments: ["inject_vidioc_reqbufs_error"])
        func refused(_ control: String) throws {
            let camera = try CameraBench.node("vivid")
            try CameraBench.set(camera, control, 1)
            let error = #expect(throws: DeviceError.self) { try CameraSource(id: camera.id) }
            #expect("\(try #require(error))".hasPrefix("vivid does not work: REQBUFS failed"))
            // The error was for once.
            try CameraSource(id: camera.id).stop()
        }

        @Test("A driver that does not begin to stream is told, and its camera is given back")
        func notStarting() throws {
            let camera = try CameraBench.node("vivid")
            let source = try CameraSource(id: camera.id)
            try CameraBench.set(camera, "inject_vidioc_streamon_error", 1)
            #expect(throws: DeviceError.self) { try source.start(deliver: { _ in }, ended: { _ in }) }
            source.stop()
            let again = try Self.record(camera.id)
            _ = try again.next(2)
            again.source.stop()
        }

        @Test("Pictures that the driver lost are counted by their numbers")
        func lost() throws {
            let camera = try CameraBench.node("vivid")
            defer { try? CameraBench.set(camera, "percentage_of_dropped_buffers", 0) }
            try CameraBench.set(camera, "percentage_of_dropped_buffers", 50)
            let recording = try Self.record(camera.id)
            _ = try recording.next(40)
            recording.source.stop()
            let statistics = recording.source.statistics
            #expect(statistics.dropped > 10 && statistics.dropped < 100)
        }

        @Test("Numbers that begin anew are no lost pictures")
        func wrapping() throws {
            let camera = try CameraBench.node("vivid")
            defer { try? CameraBench.set(camera, "wrap_sequence_number", 0) }
            try CameraBench.set(camera, "wrap_sequence_number", 1)
            let recording = try Self.record(camera.id)
            // vivid begins 128 numbers below the end of 32 bits.
            _ = try recording.next(150)
            recording.source.stop()
            // A machine that is kept waiting loses some.
            #expect(recording.source.statistics.dropped < 20)
        }

        @Test("Cameras that come and go are told")
        func watch() throws {
            let count = Counter()
            let watch = try DeviceNodeWatch { count.add() }
            defer { watch.stop() }
            try CameraBench.unplug(0)
            try Machine.wait(for: "the departure") { count.value == 1 }
            #expect(CameraBench.nodes("camctl").count == 1)
            try CameraBench.plug(0)
            try Machine.wait(for: "the arrival") { count.value >= 2 }
            // Told when it can be opened by whom its group lets.
            #expect(CameraBench.nodes("camctl").count == 2)
            let before = count.value
            try Machine.unload("snd-dummy")
            try Machine.wait(for: "the sound card's departure") { count.value > before }
            let after = count.value
            try Machine.load("snd-dummy")
            try Machine.wait(for: "the sound card's arrival") { count.value > after }
        }
    }
}
