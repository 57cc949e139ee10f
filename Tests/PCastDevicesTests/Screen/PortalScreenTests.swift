import CPipeWire
import Foundation
import PCastCodecs
import PCastCore
import Testing

@testable import PCastDevices

@Suite("Screens of the desktop portal")
struct PortalScreenTests {
    // MARK: Text

    @Test(
        "each form has its meaning",
        arguments: [
            ("portal", PortalSpecification()), ("portal:monitor", .init()), ("portal:window", .init(area: .window)),
            ("portal:monitor?pointer=embedded", .init()), ("portal?pointer=hidden", .init(showsPointer: false)),
            ("portal:window?pointer=hidden", .init(area: .window, showsPointer: false)),
        ])
    func forms(_ text: String, _ expected: PortalSpecification) throws {
        #expect(try PortalSpecification.parse(text) == expected)
        #expect(try PortalSpecification.parse("\(expected)") == expected)
    }

    @Test("other screens belong to X11", arguments: [":0", "HDMI-1", "x11::0.0", "0x1400003", "portals"])
    func others(_ text: String) throws {
        #expect(try PortalSpecification.parse(text) == nil)
    }

    @Test(
        "invalid text is rejected",
        arguments: [
            "portal:", "portal:screen", "portal:monitor:1", "portal?", "portal?pointer=none", "portal:window?x",
        ]
    )
    func invalid(_ text: String) {
        #expect(throws: DeviceError.self) { try PortalSpecification.parse(text) }
    }

    @Test("the portal is chosen in a Wayland session in which it responds")
    func choice() {
        let wayland = ["WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"]
        #expect(
            PortalSpecification.standard(environment: { wayland[$0] }, hasPortal: { true }) == PortalSpecification())
        #expect(PortalSpecification.standard(environment: { wayland[$0] }, hasPortal: { false }) == nil)
        #expect(PortalSpecification.standard(environment: { ["DISPLAY": ":0"][$0] }, hasPortal: { true }) == nil)
    }

    @Test("a bus is only used where there is one, because libdbus would start one")
    func bus() {
        #expect(!DBusConnection.mayHaveBus(environment: { _ in nil }, exists: { _ in true }))
        #expect(
            !DBusConnection.mayHaveBus(environment: { ["XDG_RUNTIME_DIR": "/run/user/1"][$0] }, exists: { _ in false }))
        #expect(
            DBusConnection.mayHaveBus(
                environment: { ["XDG_RUNTIME_DIR": "/run/user/1"][$0] }, exists: { $0 == "/run/user/1/bus" }))
        #expect(
            DBusConnection.mayHaveBus(
                environment: { ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/bus"][$0] }, exists: { _ in false }))
    }

    // MARK: Tokens

    @Test("a token is kept in a file of its owner, replaced, and removed")
    func tokens() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("portal-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let tokens = PortalTokens { ["XDG_STATE_HOME": "\(folder)/state", "HOME": "/nonexistent"][$0] }
        #expect(tokens[.monitor] == nil)
        tokens.keep("first", for: .monitor)
        tokens.keep("window", for: .window)
        tokens.keep("second", for: .monitor)
        #expect(tokens[.monitor] == "second")
        #expect(tokens[.window] == "window")
        let path = "\(folder)/state/pcast/portal-monitor.token"
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        try Data("two words".utf8).write(to: URL(fileURLWithPath: "\(folder)/state/pcast/portal-window.token"))
        #expect(tokens[.window] == nil)
        tokens.keep(nil, for: .monitor)
        #expect(tokens[.monitor] == nil)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("without a folder for state, no token is kept")
    func noFolder() {
        let tokens = PortalTokens { ["XDG_STATE_HOME": "relative"][$0] }
        tokens.keep("token", for: .monitor)
        #expect(tokens[.monitor] == nil)
    }

    // MARK: Responses

    @Test("only the path of an object is sent to libdbus")
    func paths() {
        for path in ["/", "/org/freedesktop/portal/desktop", "/a/b_1/C2"] { #expect(DBusConnection.isPath(path)) }
        for text in ["", "a", "/a/", "//", "/a//b", "/a-b", "/a b", "/ä", "/a\0"] {
            #expect(!DBusConnection.isPath(text), "\(text)")
        }
    }

    @Test("a response of the portal is a success, a refusal or a failure")
    func results() throws {
        let success = try ScreenCastPortal.results([.number(0), .options(["restore_token": .text("a")])])
        #expect(success == ["restore_token": .text("a")])
        #expect(try ScreenCastPortal.results([.number(0), .list([])]).isEmpty)
        #expect(throws: ScreenCastPortal.Failure.refused) { try ScreenCastPortal.results([.number(1), .list([])]) }
        for damaged in [[], [.text("0")], [DBusValue.number(2)]] {
            #expect(throws: ScreenCastPortal.Failure.self) { try ScreenCastPortal.results(damaged) }
        }
    }

    @Test("an error says what to do, and only a decision of the user is final")
    func errors() {
        #expect("\(ScreenCastPortal.Failure.refused.error)".contains("allow it in the dialog"))
        #expect("\(ScreenCastPortal.Failure.timeout.error)".contains("within 30 s"))
        #expect("\(ScreenCastPortal.Failure.failed("there is no bus").error)".contains("there is no bus."))
        let final: [ScreenCastPortal.Failure] = [.refused, .closed]
        for failure in final { #expect(failure.isFinal) }
        for failure: ScreenCastPortal.Failure in [.timeout, .cancelled, .failed("")] { #expect(!failure.isFinal) }
    }

    @Test("a stream has a node, and a size if the portal reports a plausible one")
    func streams() {
        func stream(_ properties: DBusValue) -> DBusValue { .list([.list([.number(42), properties])]) }
        let size = { (width: Int, height: Int) in
            DBusValue.options(["size": .list([.number(width), .number(height)]), "source_type": .number(1)])
        }
        #expect(
            ScreenCastPortal.streams(stream(size(1_280, 720)))
                == [.init(node: 42, dimensions: Dimensions(width: 1_280, height: 720))])
        #expect(ScreenCastPortal.streams(stream(.list([]))) == [.init(node: 42, dimensions: nil)])
        #expect(ScreenCastPortal.streams(stream(size(0, 720))) == [.init(node: 42, dimensions: nil)])
        #expect(ScreenCastPortal.streams(.list([.text("x"), .list([]), .list([.number(-1)])])).isEmpty)
        #expect(ScreenCastPortal.streams(.other).isEmpty)
    }

    @Test("the name of a device says whether a dialog will be shown")
    func names() {
        let device = { PortalScreens.device(PortalSpecification(), dimensions: nil, isRestored: $0).info }
        #expect(device(false).name.contains("a dialog will be shown"))
        #expect(!device(true).name.contains("dialog"))
        #expect(device(false).id == "portal:monitor")
        #expect(device(false).deviceType == .systemOutput)
    }

    // MARK: Parameters

    /// A format as `spa_pod_builder` writes it: BGRx as the preferred value of an enumeration, 1280x720.
    private static let format: [UInt64] = [
        0x0000_000f_0000_00b8, 0x0000_0004_0004_0003, 0x0000_0000_0000_0001, 0x0000_0003_0000_0004,
        0x0000_0000_0000_0002, 0x0000_0000_0000_0002, 0x0000_0003_0000_0004, 0x0000_0000_0000_0001,
        0x0000_0000_0002_0001, 0x0000_0013_0000_001c, 0x0000_0000_0000_0003, 0x0000_0003_0000_0004,
        0x0000_0008_0000_0008, 0x0000_0000_0000_000b, 0x0000_0000_0002_0003, 0x0000_000a_0000_0008,
        0x0000_02d0_0000_0500, 0x0000_0000_0002_0004, 0x0000_0013_0000_0028, 0x0000_0000_0000_0001,
        0x0000_000b_0000_0008, 0x0000_0001_0000_0000, 0x0000_0001_0000_0000, 0x0000_0001_0000_003c,
    ]

    /// Buffers as `spa_pod_builder` writes them: 4 of 2 to 16, one block, and a mask of memory types.
    private static let buffers: [UInt64] = [
        0x0000_000f_0000_0078, 0x0000_0005_0004_0004, 0x0000_0000_0000_0001, 0x0000_0013_0000_001c,
        0x0000_0000_0000_0001, 0x0000_0004_0000_0004, 0x0000_0002_0000_0004, 0x0000_0000_0000_0010,
        0x0000_0000_0000_0002, 0x0000_0004_0000_0004, 0x0000_0000_0000_0001, 0x0000_0000_0000_0006,
        0x0000_0013_0000_0014, 0x0000_0000_0000_0004, 0x0000_0004_0000_0004, 0x0000_0000_0000_0006,
    ]

    private static func read(_ bytes: [UInt8]) -> PipeWireVideoFormat? {
        bytes.withUnsafeBytes { PipeWirePod($0) }.flatMap { PipeWireVideoFormat($0) }
    }

    private static func bytes(_ words: [UInt64]) -> [UInt8] { words.withUnsafeBytes { Array($0) } }

    @Test("parameters have the bytes of libpipewire's own builder")
    func written() {
        #expect(PipeWireVideoFormat.buffers()[0].words == Self.buffers)
        let format = PipeWirePod(
            type: 0x40003, parameter: 4,
            [
                1: .id(2), 2: .id(1), 0x20001: .anyOf([.id(8), .id(11)]), 0x20003: .rectangle(1_280, 720),
                0x20004: .range(.fraction(0, 1), .fraction(0, 1), .fraction(60, 1)),
            ])
        #expect(format.words == Self.format)
    }

    @Test("the chosen format is read")
    func chosen() {
        let expected = PipeWireVideoFormat(pixels: .bgrx, dimensions: Dimensions(width: 1_280, height: 720))
        #expect(Self.read(Self.bytes(Self.format)) == expected)
        let offer = PipeWireVideoFormat.offer(
            frameRate: FrameRate(30), dimensions: Dimensions(width: 640, height: 480))
        #expect(Self.read(Self.bytes(offer.words))?.dimensions == Dimensions(width: 640, height: 480))
        #expect(Self.read(Self.bytes(Self.buffers)) == nil)
    }

    @Test("damaged parameters are rejected or read, and never trap")
    func damaged() {
        let whole = Self.bytes(Self.format)
        for count in 0..<whole.count { #expect(Self.read(Array(whole[..<count])) == nil) }
        for index in whole.indices {
            for value: UInt8 in [0, 1, 0x7F, 0xFF] {
                var bytes = whole
                bytes[index] = value
                if let format = Self.read(bytes) {
                    #expect((1...16_384).contains(format.dimensions.width))
                    #expect((1...16_384).contains(format.dimensions.height))
                }
            }
        }
    }

    @Test("a crop region selects the visible part, within the buffer")
    func crop() throws {
        let format = PipeWireVideoFormat(pixels: .bgrx, dimensions: Dimensions(width: 100, height: 50))
        let whole = try #require(PipeWireFrameArea(format, stride: 0, crop: nil))
        #expect(whole.offset == 0)
        #expect(whole.stride == 400)
        #expect(whole.dimensions == Dimensions(width: 100, height: 50))
        let window = try #require(
            PipeWireFrameArea(format, stride: 512, crop: cpw_crop(left: 10, top: 5, width: 20, height: 30)))
        #expect(window.offset == 5 * 512 + 40)
        #expect(window.dimensions == Dimensions(width: 20, height: 30))
        let beyond = try #require(
            PipeWireFrameArea(format, stride: 512, crop: cpw_crop(left: -4, top: 20, width: 500, height: 500)))
        #expect(beyond.dimensions == Dimensions(width: 100, height: 30))
        #expect(PipeWireFrameArea(format, stride: 399, crop: nil) == nil)
        #expect(PipeWireFrameArea(format, stride: 512, crop: cpw_crop(left: 100, top: 0, width: 9, height: 9)) == nil)
    }

    // MARK: Pacing

    /// Returns the number of frames that are delivered, of those that arrive at these times in tenths of milliseconds.
    private static func delivered(_ arrivals: [Int64], frameRate: FrameRate) -> Int {
        var pacing = ScreenPacing(frameRate: frameRate, started: Instant(nanoseconds: 0))
        var count = 0
        for arrival in arrivals {
            let now = Instant(nanoseconds: arrival * 100_000)
            guard pacing.accepts(at: now) else { continue }
            pacing.delivered(at: now)
            count += 1
        }
        return count
    }

    @Test("frames at the frame rate are all delivered, although they do not arrive evenly")
    func even() {
        // Tenths of milliseconds: 60 frames per second, early or late by 2 ms.
        let deviations: [Int64] = [0, 20, -20, 10]
        let arrivals = (0..<600).map { (index: Int) -> Int64 in Int64(index) * 10_000 / 60 + deviations[index % 4] }
        #expect(Self.delivered(arrivals, frameRate: FrameRate(60)) == 600)
    }

    @Test("every second frame of a source with twice the rate is delivered")
    func half() {
        let arrivals = (0..<600).map { (index: Int) -> Int64 in Int64(index) * 10_000 / 60 }
        #expect((299...301).contains(Self.delivered(arrivals, frameRate: FrameRate(30))))
    }

    @Test(
        "a compositor that delays frames to its next refresh delivers the frame rate", arguments: [24, 25, 30, 50, 60])
    func requested(_ rate: Int) {
        let requested = ScreenPacing.requestedRate(FrameRate(rate))
        for refresh in [30, 60, 75, 144] where refresh >= rate {
            // The first refresh after the interval has passed.
            let refreshes = (Double(refresh) / requested.perSecond).rounded(.up)
            #expect(Double(refresh) / refreshes >= Double(rate), "at \(refresh) Hz")
        }
    }

    @Test("the last frame is repeated while nothing changes, not faster than the frame rate")
    func repeated() {
        var pacing = ScreenPacing(frameRate: FrameRate(30), started: Instant(nanoseconds: 0))
        let after = { Instant(nanoseconds: $0 * 1_000_000) }
        #expect(!pacing.repeats(at: after(99)))
        #expect(pacing.repeats(at: after(100)))
        #expect(pacing.wakeUp(hasFrame: false) == after(100))
        pacing.delivered(at: after(100), isRepeated: true)
        #expect(pacing.wakeUp(hasFrame: false) == after(200))
        let slow = ScreenPacing(frameRate: FrameRate(1), started: Instant(nanoseconds: 0))
        #expect(!slow.repeats(at: after(999)))
        #expect(slow.repeats(at: after(1_000)))
    }

    @Test("a stream that stays paused is over")
    func paused() {
        var pacing = ScreenPacing(frameRate: FrameRate(30), started: Instant(nanoseconds: 0))
        #expect(pacing.timeout(isStreaming: true, at: Instant(nanoseconds: 60_000_000_000)) == nil)
        #expect(pacing.timeout(isStreaming: false, at: Instant(nanoseconds: 64_000_000_000)) == nil)
        #expect(pacing.timeout(isStreaming: false, at: Instant(nanoseconds: 65_100_000_000)) != nil)
    }
}
