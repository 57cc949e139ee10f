import Foundation
import PCastCodecs
import PCastCore
import PCastIO
import Testing

@testable import PCastDevices

extension Hardware {
    @Suite("Cameras: frames")
    struct CameraCaptureTests {
        /// ITU-R BT.601 in limited range: white, yellow, cyan, green, magenta, red, blue, black.
        private static let bars = [
            [235, 128, 128], [210, 16, 146], [170, 166, 16], [145, 54, 34], [106, 202, 222], [81, 90, 240],
            [41, 240, 110], [16, 128, 128],
        ]

        /// The same bars without colors, by vivid's weights of BT.709.
        private static let greys = [235, 219, 188, 172, 78, 62, 32, 16]

        /// Returns vivid with color bars, no motion and no text.
        private static func barred() throws -> CameraNode {
            let camera = try CameraBench.node("vivid")
            try CameraBench.set(camera, "test_pattern", 1)
            try CameraBench.set(camera, "osd_text_mode", 2)
            return camera
        }

        @Test("each format shows vivid's color bars in their colors", .timeLimit(.minutes(5)))
        func bars() throws {
            let camera = try Self.barred()
            let formats = try CameraBench.capabilities(camera.id).formats
            var encodings: [CaptureEncoding] = []
            for format in formats where format.encoding.isCapturable && !encodings.contains(format.encoding) {
                encodings.append(format.encoding)
            }
            for encoding in [CaptureEncoding.yuyv, .nv12, .i420] { #expect(encodings.contains(encoding)) }
            #expect(encodings.count >= 15)
            for encoding in encodings {
                let (source, frames) = try CameraRecording.frames(
                    2, of: camera.id, CameraBench.configuration(encoding, CameraBench.small))
                #expect(source.configuration.encoding == encoding && source.dimensions == CameraBench.small)
                // Five bits per color are imprecise.
                let tolerance = [.other("RGBP"), .other("XR15")].contains(encoding) ? 8 : 2
                for (index, colour) in Self.bars.enumerated() {
                    // vivid draws 100 % colors. Each bar is 40 pixels wide.
                    let seen = CameraBench.pixel(frames[1], index * 40 + 20, 90)
                    let expected = encoding == .other("GREY") ? [Self.greys[index], 128, 128] : colour
                    #expect(
                        !CameraBench.differ(seen, expected, by: tolerance), "\(encoding.name) bar \(index): \(seen)")
                }
            }
        }

        @Test("YUYV, NV12 and I420 of the same scene are the same frame", .timeLimit(.minutes(5)))
        func equal() throws {
            let camera = try Self.barred()
            let frames = try [CaptureEncoding.yuyv, .nv12, .i420].map {
                try CameraRecording.frames(2, of: camera.id, CameraBench.configuration($0, CameraBench.large))
                    .frames[1]
            }
            for frame in frames.dropFirst() {
                var different = 0
                for row in 0..<CameraBench.large.height {
                    for column in 0..<CameraBench.large.width {
                        let (first, second) = (
                            CameraBench.pixel(frames[0], column, row), CameraBench.pixel(frame, column, row)
                        )
                        if CameraBench.differ(first, second, by: 1) { different += 1 }
                    }
                }
                #expect(different == 0)
            }
        }

        @Test("camctl's test frame is delivered exactly", arguments: [CaptureEncoding.yuyv, .nv12])
        func quarters(_ encoding: CaptureEncoding) throws {
            let camera = try CameraBench.node("camctl")
            for size in [CameraBench.small, CameraBench.large] {
                let frame = try CameraRecording.frames(
                    2, of: camera.id, CameraBench.configuration(encoding, size)
                ).frames[1]
                #expect(frame.dimensions == size)
                let quarters = [[200, 128, 128], [150, 90, 200], [100, 60, 60], [60, 220, 110]]
                var wrong = 0
                // These pixels are between the lines of the moving bar and the edges of the frame.
                for row in 0..<size.height where abs(row - size.height / 2) > 10 {
                    for column in 0..<size.width {
                        let quarter = (row < size.height / 2 ? 0 : 2) + (column < size.width / 2 ? 0 : 1)
                        if CameraBench.pixel(frame, column, row) != quarters[quarter] { wrong += 1 }
                    }
                }
                #expect(wrong == 0)
            }
        }

        @Test("cameras with the multi-planar interface deliver the same frame", .timeLimit(.minutes(5)))
        func multiplanar() throws {
            try Machine.unload("vivid")
            try Machine.load("vivid", "n_devs=1", "node_types=1", "num_inputs=1", "input_types=0", "multiplanar=2")
            defer {
                try? Machine.unload("vivid")
                try? Machine.load("vivid")
            }
            let camera = try Self.barred()
            #expect(camera.capability.isMultiplanar)
            for encoding in [CaptureEncoding.yuyv, .nv12, .i420] {
                let frame = try CameraRecording.frames(
                    2, of: camera.id, CameraBench.configuration(encoding, CameraBench.small)
                ).frames[1]
                for (index, colour) in Self.bars.enumerated() {
                    let seen = CameraBench.pixel(frame, index * 40 + 20, 90)
                    #expect(!CameraBench.differ(seen, colour, by: 2), "\(encoding.name) bar \(index): \(seen)")
                }
            }
        }

        @Test("a requested rate is used, and capture times show it", arguments: [15, 30, 60])
        func rates(_ rate: Int) throws {
            let camera = try CameraBench.node("vivid")
            let (source, frames) = try CameraRecording.frames(
                20, of: camera.id, CameraBench.configuration(.yuyv, CameraBench.small, rate))
            #expect(source.nominalFrameRate == Double(rate))
            let times = frames.compactMap(\.captureTime)
            #expect(times.count == 20)
            let span = (times[19] - times[1]).seconds
            #expect(abs(span * Double(rate) - 18) < 0.5, "18 intervals took \(span) s")
            for (first, second) in zip(frames, frames.dropFirst()) {
                let ticks = second.timestamp.ticks - first.timestamp.ticks
                let span = second.captureTime! - first.captureTime!
                // Both times are the driver's. The media clock counts in 11 µs.
                #expect((ClockRate.video.span(ofTicks: ticks) - span).magnitude <= .microseconds(12))
                #expect(ticks > 0)
            }
            #expect(source.statistics.retimed == 0 && source.statistics.damaged == 0)
        }

        @Test("capture times are current")
        func captureTime() throws {
            let camera = try CameraBench.node("camctl")
            let recording = try CameraRecording(
                CameraSource(id: camera.id, configuration: CameraBench.configuration(.yuyv, CameraBench.small)))
            defer { recording.source.stop() }
            for _ in 0..<3 {
                let before = Date().timeIntervalSince1970
                let frames = try recording.next(5)
                let after = Date().timeIntervalSince1970
                for frame in frames {
                    let time = Double(frame.captureTime!.nanosecondsSinceEpoch) / 1e9
                    // A frame may start before the wait for it.
                    #expect(before - 0.1 < time && time < after)
                }
            }
        }

        @Test("a camera that was released can be opened at once in another format")
        func reopening() throws {
            let camera = try CameraBench.node("vivid")
            let sizes = [CameraBench.large, CameraBench.small, CameraBench.large, CameraBench.small]
            for (size, encoding) in zip(sizes, [CaptureEncoding.yuyv, .nv12, .i420, .yuyv]) {
                let (source, frames) = try CameraRecording.frames(
                    2, of: camera.id, CameraBench.configuration(encoding, size))
                #expect(source.dimensions == size && frames.allSatisfy { $0.dimensions == size })
            }
            // A camera that was opened and never started is released too, by stopping or deallocating it.
            let opened = try CameraSource(id: camera.id)
            #expect(throws: DeviceError.busy("vivid")) { try CameraSource(id: camera.id) }
            opened.stop()
            do { _ = try CameraSource(id: camera.id) }
            _ = try CameraSource(id: camera.id)
        }

        @Test("repeated opening and releasing leaves nothing behind")
        func leaks() throws {
            let camera = try CameraBench.node("vivid")
            func held() throws -> (descriptors: Int, threads: Int, mapped: Int) {
                let files = FileManager.default
                return (
                    try files.contentsOfDirectory(atPath: "/proc/self/fd").count,
                    try files.contentsOfDirectory(atPath: "/proc/self/task").count,
                    try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).split(separator: "\n").filter {
                        $0.contains("/dev/video")
                    }.count
                )
            }
            func use() throws {
                _ = try CameraRecording.frames(1, of: camera.id, CameraBench.configuration(.nv12, CameraBench.small))
                _ = Cameras.enumerate()
            }
            try use()
            let before = try held()
            for _ in 0..<20 { try use() }
            let after = try held()
            #expect(after.descriptors <= before.descriptors && after.threads <= before.threads)
            #expect(after.mapped == 0)
        }

        @Test("an unavailable size becomes the nearest available one, and is reported")
        func nearest() throws {
            let camera = try CameraBench.node("camctl")
            let (source, frames) = try CameraRecording.frames(
                2, of: camera.id,
                CameraBench.configuration(.yuyv, Dimensions(width: 600, height: 400), 24))
            #expect(source.dimensions == CameraBench.large && source.configuration.dimensions == CameraBench.large)
            #expect(source.configuration.frameRate == FrameRate(30) && source.nominalFrameRate == 30)
            #expect(frames.allSatisfy { $0.dimensions == CameraBench.large })
        }

        @Test("without an encoding the camera's best for the size is used; an unavailable one is reported")
        func encodings() throws {
            let camera = try CameraBench.node("camctl")
            let (source, _) = try CameraRecording.frames(1, of: camera.id, VideoConfiguration())
            #expect(source.configuration.encoding == .nv12 && source.id == camera.id)
            let unavailable = DeviceError.faulty("camctl front", reason: "it does not offer H264; it offers NV12, YUYV")
            #expect(throws: unavailable) {
                try CameraSource(id: camera.id, configuration: CameraBench.configuration(.h264, CameraBench.small))
            }
        }

        @Test("a camera has many names, and without one the first is used")
        func names() throws {
            let camera = try CameraBench.node("camctl", 1)
            for name in [camera.id, camera.path, "platform-camctl-001-video-index0"] {
                let source = try CameraSource(id: name)
                #expect(source.id == camera.id && source.name == "camctl back")
                source.stop()
            }
            let source = try CameraSource()
            #expect(source.id == CameraNode.survey().cameras[0].id)
        }

        @Test("opening a camera in use fails and disturbs no client")
        func busy() throws {
            for driver in ["vivid", "camctl"] {
                let camera = try CameraBench.node(driver)
                let recording = try CameraRecording(
                    CameraSource(id: camera.id, configuration: CameraBench.configuration(.yuyv, CameraBench.small)))
                _ = try recording.next(3)
                for size in [CameraBench.small, CameraBench.large] {
                    #expect(throws: DeviceError.busy(camera.identity.name)) {
                        try CameraSource(id: camera.id, configuration: CameraBench.configuration(.yuyv, size))
                    }
                }
                #expect(try recording.next(3).allSatisfy { $0.dimensions == CameraBench.small })
                recording.source.stop()
                #expect(recording.endCount == 0 && recording.source.statistics.dropped == 0)
            }
        }

        @Test("a camera of another program is in use until that ends")
        func otherProgram() throws {
            let camera = try CameraBench.node("camctl")
            let other = try MachineProgram(
                "v4l2-ctl", ["-d", camera.path, "--stream-mmap", "--verbose"], isQuiet: true)
            while let line = other.nextLine(), !line.contains("dqbuf") {}
            #expect(throws: DeviceError.busy("camctl front")) { try CameraSource(id: camera.id) }
            other.end()
            try CameraSource(id: camera.id).stop()
        }

        @Test("a slow consumer gets the newest frames, and dropped ones are counted")
        func slow() throws {
            let camera = try CameraBench.node("camctl")
            let recording = try CameraRecording(
                CameraSource(id: camera.id, configuration: CameraBench.configuration(.yuyv, CameraBench.small)),
                hold: { FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(400)) })
            let frames = try recording.next(8)
            recording.source.stop()
            let statistics = recording.source.statistics
            #expect(statistics.dropped > statistics.captured && statistics.retimed == 0)
            let span = (frames[7].captureTime! - frames[0].captureTime!).seconds
            let total = Double(statistics.captured + statistics.dropped)
            // All of the camera's frames are counted: 30 per second.
            #expect(total >= span * 30 - 1)
        }

        @Test("a stop from a delivery ends it, and nothing is delivered or reported afterwards")
        func stopInside() throws {
            let camera = try CameraBench.node("vivid")
            let source = try CameraSource(
                id: camera.id, configuration: CameraBench.configuration(.yuyv, CameraBench.small))
            let count = Counter()
            try source.start(
                deliver: { _ in
                    count.add()
                    source.stop()
                }, ended: { _ in count.add() })
            try Machine.wait(for: "the camera to be given back") {
                (try? CameraSource(id: camera.id))?.stop() != nil
            }
            #expect(count.value == 1)
        }
    }
}
