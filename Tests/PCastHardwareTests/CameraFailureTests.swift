import Foundation
import PCastCore
import Testing

@testable import PCastDevices

extension Hardware {
    @Suite("Cameras: failures")
    struct CameraFailureTests {
        private static func record(_ id: String, _ size: Dimensions = CameraBench.small) throws -> CameraRecording {
            try CameraRecording(CameraSource(id: id, configuration: CameraBench.configuration(.yuyv, size)))
        }

        @Test("a camera that is unplugged while it streams vanishes within a second, and can return")
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
            // The program closes the node, so the camera returns at the same one.
            try CameraBench.plug(0)
            #expect(try CameraBench.node("camctl").path == camera.path)
            let again = try Self.record(camera.id)
            _ = try again.next(3)
            again.source.stop()
            recording.source.stop()
            #expect(recording.count == count && recording.endCount == 1 && again.endCount == 0)
        }

        @Test("a camera that its driver disconnects has vanished")
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
            "errors of the queue cause a restart",
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

        @Test("a single frame with the driver's error flag is dropped")
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
            "frames that the driver calls broken, or that are incomplete, are dropped and counted",
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
            try Machine.wait(for: "damaged frames") { recording.source.statistics.damaged >= 10 }
            try CameraBench.lie("none")
            let frames = try recording.next(3)
            #expect(frames.count == 3 && recording.end == nil)
            #expect(frames.allSatisfy { CameraBench.pixel($0, 10, 10) == [200, 128, 128] })
            let statistics = recording.source.statistics
            #expect(statistics.dropped == 0 && statistics.restarted == 0)
        }

        @Test(
            "impossible times are replaced by the current time, and counted",
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
            let frames = recording.frames
            for (first, second) in zip(frames, frames.dropFirst()) {
                #expect(first.timestamp.ticks < second.timestamp.ticks)
                #expect((second.captureTime! - first.captureTime!).seconds < 0.5)
            }
            for frame in frames {
                let time = Double(frame.captureTime!.nanosecondsSinceEpoch) / 1e9
                #expect(before - 0.5 < time && time < after + 0.1)
            }
            let (retimed, captured) = (recording.source.statistics.retimed, recording.source.statistics.captured)
            switch lie {
            case "past", "future": #expect(retimed >= captured / 10 && retimed <= captured / 10 + 1)
            case "frozen": #expect(retimed >= captured - 1)
            default: #expect(retimed == captured)
            }
        }

        @Test("an unlisted size is used as the driver sets it")
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

        @Test("rows without a length have the length of their pixels")
        func stride() throws {
            let camera = try CameraBench.node("camctl")
            try CameraBench.lie("stride")
            defer { try? CameraBench.lie("none") }
            let recording = try Self.record(camera.id)
            defer { recording.source.stop() }
            let frame = try recording.next(2)[1]
            #expect(CameraBench.pixel(frame, 300, 170) == [60, 220, 110])
        }

        @Test("a camera that delivers nothing is restarted, and then fails", .timeLimit(.minutes(5)))
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
            // The camera was released.
            let again = try Self.record(camera.id)
            _ = try again.next(2)
            again.source.stop()
        }

        @Test("a camera that hangs for a while continues", .timeLimit(.minutes(5)))
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

        @Test("errors of a driver are reported with their reason", arguments: ["inject_vidioc_reqbufs_error"])
        func refused(_ control: String) throws {
            let camera = try CameraBench.node("vivid")
            try CameraBench.set(camera, control, 1)
            let error = #expect(throws: DeviceError.self) { try CameraSource(id: camera.id) }
            #expect("\(try #require(error))".hasPrefix("vivid does not work: REQBUFS failed"))
            // The error occurs only once.
            try CameraSource(id: camera.id).stop()
        }

        @Test("a driver that does not start to stream is reported, and its camera is released")
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

        @Test("frames that the driver lost are counted by their numbers")
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

        @Test("restarted numbers are no lost frames")
        func wrapping() throws {
            let camera = try CameraBench.node("vivid")
            defer { try? CameraBench.set(camera, "wrap_sequence_number", 0) }
            try CameraBench.set(camera, "wrap_sequence_number", 1)
            let recording = try Self.record(camera.id)
            // vivid starts 128 numbers below the end of 32 bits.
            _ = try recording.next(150)
            recording.source.stop()
            // A slow machine loses some frames.
            #expect(recording.source.statistics.dropped < 20)
        }

        @Test("cameras that appear and disappear are reported")
        func watch() throws {
            let count = Counter()
            let watch = try DeviceNodeMonitor { count.add() }
            defer { watch.stop() }
            try CameraBench.unplug(0)
            try Machine.wait(for: "the departure") { count.value == 1 }
            #expect(CameraBench.nodes("camctl").count == 1)
            try CameraBench.plug(0)
            try Machine.wait(for: "the arrival") { count.value >= 2 }
            // The report comes when the camera's group can open it.
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
