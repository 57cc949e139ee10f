import Foundation
import PCastCore
import Testing

@testable import PCastDevices

extension Hardware {
    @Suite("Cameras: enumeration")
    struct CameraEnumerationTests {
        @Test("identifiers are udev's names, do not name a node, and are unique")
        func identifiers() throws {
            let cameras = CameraNode.survey().cameras
            #expect(Set(cameras.map(\.id)).count == cameras.count && cameras.count >= 4)
            let front = try CameraBench.node("camctl")
            #expect(front.id == "platform-camctl.0-video-index0")
            #expect(realLink("/dev/v4l/by-path/" + front.id) == front.path)
            // Both cameras of vivid have one path and one index, so udev has one link for them.
            #expect(
                CameraBench.nodes("vivid").map(\.id) == [
                    "platform-vivid-000-video-index0", "platform-vivid-001-video-index0",
                ])
            for camera in cameras {
                for name in camera.names where !name.hasPrefix("virtual") && camera.capability.driver != "vivid" {
                    let links = ["/dev/v4l/by-id/", "/dev/v4l/by-path/"].compactMap { realLink($0 + name) }
                    #expect(links.isEmpty || links == [camera.path], "\(name)")
                }
                #expect(!camera.id.contains("video\(camera.path.dropFirst("/dev/video".count))-"))
            }
        }

        @Test("a camera keeps its identifier when it returns at another node")
        func otherNode() throws {
            let before = try CameraBench.node("camctl", 1)
            try CameraBench.unplug(0)
            try CameraBench.unplug(1)
            // They return in the other order.
            try CameraBench.plug(1)
            try CameraBench.plug(0)
            let after = try #require(CameraNode.survey().cameras.first { $0.id == before.id })
            #expect(after.path != before.path && after.identity == before.identity)
            try CameraBench.unplug(0)
            try CameraBench.unplug(1)
            try CameraBench.plug(0)
            try CameraBench.plug(1)
        }

        @Test("metadata nodes, outputs and other nodes of a camera are not listed")
        func onlyCameras() throws {
            try Machine.unload("vivid")
            // All types except the frame buffer, which the console would hold: video, VBI, radio, metadata, touch.
            try Machine.load("vivid", "n_devs=1", "node_types=0xe0d3d")
            defer {
                try? Machine.unload("vivid")
                try? Machine.load("vivid")
            }
            let nodes = SysfsDevice.names(subsystem: "video4linux").compactMap {
                try? VideoNode(path: "/dev/\($0)", access: .driver)
            }.filter { $0.capability.driver == "vivid" }
            #expect(nodes.count >= 4, "there are devices to exclude")
            #expect(CameraBench.nodes("vivid").count == 1)
            #expect(Cameras.enumerate().filter { $0.identity.name == "vivid" }.count == 1)
            for path in nodes.map(\.path) where path != CameraBench.nodes("vivid")[0].path {
                #expect(Cameras.identifier(of: path) == nil)
            }
        }

        @Test("formats, sizes and rates are those of v4l2-ctl", arguments: ["vivid", "camctl"])
        func formats(_ driver: String) throws {
            let camera = try CameraBench.node(driver)
            let listing = try Machine.run("v4l2-ctl", ["-d", camera.path, "--list-formats-ext"])
            var expected: Set<String> = []
            var (code, size) = ("", "")
            for line in listing.split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
                if line.hasPrefix("[") {
                    code = String(line.split(separator: "'")[1])
                } else if line.hasPrefix("Size: Discrete") {
                    size = String(line.dropFirst("Size: Discrete ".count))
                } else if line.hasPrefix("Interval: Discrete"), let open = line.firstIndex(of: "(") {
                    let rate = Double(line[line.index(after: open)...].prefix { $0 != " " })!
                    expected.insert("\(code) \(size) \(rate)")
                }
            }
            let listed = try CameraBench.capabilities(camera.id).formats.flatMap { format -> [String] in
                guard case .discrete(let size) = format.sizes, case .discrete(let rates) = format.rates else {
                    return []
                }
                #expect(rates == rates.sorted(by: >))
                return rates.map { rate in
                    "\(fourCC(format.encoding)) \(size) \((rate.perSecond * 1_000).rounded() / 1_000)"
                }
            }
            #expect(!expected.isEmpty && Set(listed) == expected)
        }

        @Test("a range of sizes is reported as a range")
        func ranges() throws {
            try Machine.unload("vivid")
            // An HDMI input, whose frames are scaled.
            try Machine.load("vivid", "n_devs=1", "node_types=1", "num_inputs=1", "input_types=3")
            defer {
                try? Machine.unload("vivid")
                try? Machine.load("vivid")
            }
            let formats = try CameraBench.capabilities(CameraBench.node("vivid").id).formats
            let smallest = Dimensions(width: 16, height: 16)
            let largest = Dimensions(width: 16_384, height: 8_640)
            let range = CaptureFormat.Sizes.stepwise(
                smallest: smallest, largest: largest, step: Dimensions(width: 2, height: 2))
            #expect(formats.count > 50 && formats.allSatisfy { $0.sizes == range })
        }

        @Test("a virtual device of the kernel has a name too, and follows hardware")
        func virtual() throws {
            try Machine.load("v4l2loopback", "exclusive_caps=0")
            defer { try? Machine.unload("v4l2loopback") }
            let camera = try CameraBench.node("v4l2 loopback")
            #expect(!camera.isHardware && camera.id == "virtual-Loopback-video-index0")
            #expect(CameraNode.survey().cameras.last == camera)
            // The device has no format before a program writes to it.
            #expect(try CameraBench.capabilities(camera.id).formats == [])
            #expect(throws: DeviceError.self) { try CameraSource(id: camera.id) }
        }

        @Test("controls and their ranges are those of v4l2-ctl", arguments: ["vivid", "camctl"])
        func controls(_ driver: String) throws {
            let camera = try CameraBench.node(driver, driver == "camctl" ? 1 : 0)
            let listing = try Machine.run("v4l2-ctl", ["-d", camera.path, "--list-ctrls-menus"])
            let controls = try CameraBench.capabilities(camera.id).controls
            var lines = 0
            var menu: (items: [String], position: Int)?
            for line in listing.split(separator: "\n").map(String.init) {
                if line.hasPrefix("\t\t\t\t") {
                    // An entry of the last menu: "1: Name" or "1: 100000 (0x186a0)".
                    guard let entries = menu, entries.position < entries.items.count else { continue }
                    let text = line.trimmingCharacters(in: .whitespaces).split(separator: " ", maxSplits: 1)[1]
                    #expect(text.hasPrefix(entries.items[entries.position]))
                    menu!.position += 1
                    continue
                }
                guard let range = line.range(of: #"0x[0-9a-f]{8} \(\w+ *\)"#, options: .regularExpression) else {
                    continue
                }
                if let menu { #expect(menu.position == menu.items.count) }
                let name = line[..<range.lowerBound].trimmingCharacters(in: .whitespaces)
                let control = try #require(controls.first { Self.plain($0.name) == name }, "\(name) is not listed")
                check(control, line)
                lines += 1
                if case .menu(let items, _) = control.kind { menu = (items, 0) } else { menu = nil }
            }
            #expect(lines == controls.count && lines > 20)
        }

        /// Returns v4l2-ctl's own form of a control's name.
        private static func plain(_ name: String) -> String {
            name.lowercased().split { !$0.isLetter && !$0.isNumber }.joined(separator: "_")
        }

        private func check(_ control: DeviceControl, _ line: String) {
            func number(_ key: String) -> Int64? {
                line.range(of: " \(key)=").flatMap { Int64(line[$0.upperBound...].prefix { $0.isNumber || $0 == "-" }) }
            }
            #expect(control.isReadOnly == (line.contains("read-only")), "\(line)")
            switch control.kind {
            case .integer(let range, let step, let standard):
                #expect(line.contains("(int"), "\(line)")
                #expect(range.lowerBound == number("min") && range.upperBound == number("max"), "\(line)")
                #expect(step == number("step") && standard == number("default"), "\(line)")
            case .boolean(let standard):
                #expect(line.contains("(bool)") && (standard ? 1 : 0) == number("default"), "\(line)")
            case .menu(let items, let standard):
                #expect(line.contains("menu)") && items.indices.contains(standard), "\(line)")
            case .button: #expect(line.contains("(button)"), "\(line)")
            case .other(let word):
                #expect(
                    !word.isEmpty && !line.contains("(int)") && !line.contains("(bool)") || word.contains("values of"))
            }
        }

        @Test("the capabilities of a camera follow from its controls")
        func features() throws {
            let (front, back) = (try CameraBench.node("camctl"), try CameraBench.node("camctl", 1))
            let plain = try CameraBench.capabilities(front.id)
            #expect(plain.flashModes == [.alwaysOff])
            #expect(plain.autoFocusModes == [.locked, .autoThenLocked, .continuous] && plain.hasFocusTarget)
            #expect(try CameraBench.capabilities(back.id).flashModes == Set(FlashMode.allCases))
            let vivid = try CameraBench.capabilities(try CameraBench.node("vivid").id)
            #expect(vivid.autoFocusModes == [] && !vivid.hasFocusTarget && vivid.flashModes == [.alwaysOff])
            #expect(vivid.mountRotation == 0)
        }

        @Test("the direction and mounting of cameras are read from their firmware")
        func mounting() throws {
            try Machine.unload("camctl")
            // The degrees are the counter-clockwise correction: 90 degrees are three clockwise quarters.
            try Machine.load("camctl", "devices=4", "orientation=0,1,2,1", "rotation=0,90,180,270")
            defer {
                try? Machine.unload("camctl")
                try? Machine.load("camctl")
            }
            let devices = Cameras.enumerate().filter { $0.info.id.hasPrefix("platform-camctl") }.sorted {
                $0.info.id < $1.info.id
            }
            #expect(devices.map(\.info.facingMode) == [.user, .environment, .undefined, .environment])
            let turns = devices.map { device -> Int? in
                guard case .video(let capabilities) = device.capabilities else { return nil }
                return capabilities.mountRotation
            }
            #expect(turns == [0, 3, 2, 1])
            #expect(devices.allSatisfy { $0.info.deviceType == .physical && $0.info.mediaType == .video })
            #expect(devices.map(\.info.name) == ["camctl front", "camctl back", "camctl external", "camctl back"])
        }

        @Test("an enumeration disturbs no running camera")
        func undisturbed() throws {
            let camera = try CameraBench.node("vivid")
            let recording = try CameraRecording(
                CameraSource(id: camera.id, configuration: CameraBench.configuration(.yuyv, CameraBench.small)))
            defer { recording.source.stop() }
            _ = try recording.next(5)
            for _ in 0..<5 {
                #expect(Cameras.enumerate().contains { $0.info.id == camera.id })
                _ = try recording.next(3)
            }
            #expect(recording.source.statistics.dropped < 10 && recording.source.statistics.restarted == 0)
            #expect(recording.frames.allSatisfy { $0.dimensions == CameraBench.small })
        }

        @Test("a node without permission is reported with the group to join")
        func forbidden() throws {
            let camera = try CameraBench.node("camctl")
            #expect(seteuid(65_534) == 0)
            defer { #expect(seteuid(0) == 0) }
            #expect(throws: DeviceError.forbidden(camera.path, group: "video")) { try CameraSource(id: camera.path) }
            #expect(Cameras.enumerate().isEmpty)
            #expect(Cameras.closedNodes().contains(.forbidden(camera.path, group: "video")))
        }

        @Test("a missing camera is reported with the places of the search")
        func absent() {
            #expect(throws: DeviceError.notFound("camera:nonsense", lookedIn: "/dev/video*")) {
                try CameraSource(id: "nonsense")
            }
        }

        private func realLink(_ path: String) -> String? {
            realpath(path, nil).map { text in
                defer { free(text) }
                return String(cString: text)
            }
        }

        private func fourCC(_ encoding: CaptureEncoding) -> String {
            switch encoding {
            case .yuyv: "YUYV"
            case .nv12: "NV12"
            case .i420: "YU12"
            case .mjpeg: "MJPG"
            case .h264: "H264"
            case .computed: ""
            case .other(let name): name
            }
        }
    }
}
