import CXCB
import Foundation
import PCastCodecs
import Testing

@testable import PCastDevices

@Suite("Errors of X servers")
struct XServerTests {
    private static func failure(_ error: Int32, _ display: String?, _ environment: [String: String]) -> DeviceError {
        XServerName.failure(error, display: display) { environment[$0] }
    }

    @Test("a missing display is an error with the places of the search")
    func noDisplay() {
        #expect(Self.failure(XCB_CONN_ERROR, nil, [:]) == .notFound("screen", lookedIn: "DISPLAY, which is not set"))
        #expect(Self.failure(XCB_CONN_ERROR, nil, ["DISPLAY": ""]).description.contains("DISPLAY, which is not set"))
    }

    @Test("in a Wayland session without X, the error names that reason")
    func wayland() {
        let error = Self.failure(XCB_CONN_ERROR, nil, ["WAYLAND_DISPLAY": "wayland-0"])
        #expect(error.description.contains("Wayland") && error.description.contains("wayland-0"))
    }

    @Test("a display without a server is named, with the source of its name")
    func nobody() {
        let fromVariable = Self.failure(XCB_CONN_ERROR, nil, ["DISPLAY": "nowhere.invalid:54321"])
        #expect(fromVariable.description.contains("DISPLAY (nowhere.invalid:54321)"))
        let given = Self.failure(XCB_CONN_ERROR, "nowhere.invalid:54321", ["DISPLAY": ":0"])
        #expect(given.description.contains("nowhere.invalid:54321") && !given.description.contains("DISPLAY ("))
    }

    @Test("an invalid display name and a missing screen are different errors")
    func others() {
        guard case .unusable = Self.failure(XCB_CONN_CLOSED_PARSE_ERR, "display", [:]) else {
            Issue.record("not unusable")
            return
        }
        #expect(
            Self.failure(XCB_CONN_CLOSED_INVALID_SCREEN, ":7.3", [:])
                == .notFound("screen 3", lookedIn: "the X server of :7.3"))
    }

    @Test(
        "masks determine the pixel layout",
        arguments: [
            (32, 0xFF0000, 0xFF00, 0xFF, true, RawPixelFormat.bgrx), (32, 0xFF, 0xFF00, 0xFF0000, true, .rgbx),
            (32, 0xFF0000, 0xFF00, 0xFF, false, .xrgb), (32, 0xFF00, 0xFF_0000, 0xFF00_0000, true, .xrgb),
            (24, 0xFF0000, 0xFF00, 0xFF, true, .bgr24), (24, 0xFF0000, 0xFF00, 0xFF, false, .rgb24),
            (16, 0xF800, 0x7E0, 0x1F, true, .rgb565), (16, 0x7C00, 0x3E0, 0x1F, true, .xrgb1555),
        ] as [(Int, UInt32, UInt32, UInt32, Bool, RawPixelFormat)])
    func pixels(_ bits: Int, _ red: UInt32, _ green: UInt32, _ blue: UInt32, _ isLittle: Bool, _ format: RawPixelFormat)
    {
        let layout = XPixelLayout(
            bitsPerPixel: bits, scanlinePad: 32, red: red, green: green, blue: blue, isLittleEndian: isLittle)
        #expect(layout?.format == format)
        #expect(layout?.stride(width: 3) == [16: 8, 24: 12, 32: 12][bits])
    }

    @Test(
        "palettes, ten bits per color and invalid masks are rejected",
        arguments: [
            (8, 0, 0, 0), (32, 0x3FF0_0000, 0xFFC00, 0x3FF), (32, 0, 0xFF00, 0xFF), (32, 0xFF00FF, 0xFF00, 0xFF),
            (24, 0xFF00_0000, 0xFF0000, 0xFF00), (16, 0xF00, 0xF0, 0xF), (64, 0xFF0000, 0xFF00, 0xFF),
        ] as [(Int, UInt32, UInt32, UInt32)])
    func unreadable(_ bits: Int, _ red: UInt32, _ green: UInt32, _ blue: UInt32) {
        #expect(
            XPixelLayout(bitsPerPixel: bits, scanlinePad: 32, red: red, green: green, blue: blue, isLittleEndian: true)
                == nil)
    }

    @Test("a mode's refresh rate is computed from its clock, in hundredths")
    func refreshRates() {
        #expect(XRefreshRates.rate(clock: 148_500_000, columns: 2_200, rows: 1_125, flags: 0) == FrameRate(60))
        #expect(XRefreshRates.rate(clock: 173_000_000, columns: 2_576, rows: 1_120, flags: 0) == FrameRate(5_996, 100))
        let interlaced = XCB_RANDR_MODE_FLAG_INTERLACE.rawValue
        #expect(XRefreshRates.rate(clock: 74_250_000, columns: 2_200, rows: 1_125, flags: interlaced) == FrameRate(60))
        let doubled = XCB_RANDR_MODE_FLAG_DOUBLE_SCAN.rawValue
        #expect(XRefreshRates.rate(clock: 25_175_000, columns: 800, rows: 262, flags: doubled) == FrameRate(6_005, 100))
        for (clock, columns, rows) in [(0, 800, 525), (1, 800, 525), (25_175_000, 0, 525), (.max / 400, 1, 1)] {
            #expect(XRefreshRates.rate(clock: clock, columns: columns, rows: rows, flags: 0) == nil)
        }
    }
}

/// A test's own X server with a screen in memory (Xvfb). It finds a display number, and has no network connection.
final class TestXServer: Sendable {
    /// The display, such as `:N`.
    let display: String
    private let program: TestProgram
    private let folder: String?

    static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/Xvfb")

    /// Starts an X server. Screens are sizes with depths, such as `800x600x24`. Further options are those of Xvfb.
    /// If `wantsCookie` is true, the server rejects clients without the secret.
    init(screens: [String] = ["800x600x24"], options: [String] = [], wantsCookie: Bool = false) throws {
        var arguments = ["-displayfd", "1", "-nolisten", "tcp", "-noreset"]
        for (index, screen) in screens.enumerated() { arguments += ["-screen", "\(index)", screen] }
        folder = wantsCookie ? try Self.folderWithCookie() : nil
        if let folder { arguments += ["-auth", "\(folder)/cookie"] }
        let output = TestPipe()
        program = try TestProgram("/usr/bin/Xvfb", arguments + options, output: output.writeEnd)
        close(output.writeEnd)
        defer { close(output.readEnd) }
        // The server writes the number when it listens.
        let number = output.read { $0 == 0x0A }.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !number.isEmpty else { throw TestProgram.DidNotStart() }
        display = ":" + number
    }

    deinit {
        end()
        if let folder { try? FileManager.default.removeItem(atPath: folder) }
    }

    private static func folderWithCookie() throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // The file has one entry: any host, any display, the protocol's name and sixteen bytes.
        let name = Array("MIT-MAGIC-COOKIE-1".utf8)
        let entry = [0xFF, 0xFF, 0, 0, 0, 0, 0, UInt8(name.count)] + name + [0, 16] + [UInt8](repeating: 7, count: 16)
        try Data(entry).write(to: URL(fileURLWithPath: "\(folder)/cookie"))
        return folder
    }

    /// Ends the server. A second call has no effect.
    func end() { program.terminate() }

    func freeze() { program.freeze() }
}
