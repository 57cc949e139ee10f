import PCastCore
import Synchronization
import Testing

@testable import PCastDevices

/// The frames of a screen source, for which tests can wait.
final class ScreenFrames: Sendable {
    let source: ScreenSource
    private let frames: AsyncStream<VideoFrame>
    private let end = Mutex<SourceEnd?>(nil)

    init(_ source: ScreenSource) throws {
        self.source = source
        // The buffer is limited, as for every consumer of a source.
        let (frames, continuation) = AsyncStream<VideoFrame>.makeStream(bufferingPolicy: .bufferingNewest(2))
        self.frames = frames
        try source.start(
            deliver: { if case .frame(let frame) = $0 { continuation.yield(frame) } },
            ended: { [self] end in
                self.end.withLock { $0 = end }
                continuation.finish()
            })
    }

    deinit { source.stop() }

    /// Returns the next frame that fulfils a condition; nil if the source ends before.
    func first(where isSo: (VideoFrame) -> Bool) async -> VideoFrame? {
        for await frame in frames where isSo(frame) { return frame }
        return nil
    }

    /// Waits for the end of the source itself.
    func ending() async -> SourceEnd? {
        for await _ in frames {}
        return end.withLock { $0 }
    }
}

extension VideoFrame {
    /// Returns whether a position has a color, by BT.601 in limited range.
    func shows(_ colour: TestXClient.Colour, atX x: Int, y: Int) -> Bool {
        guard (0..<dimensions.width).contains(x), (0..<dimensions.height).contains(y) else { return false }
        let expected: (Int, Int, Int) =
            switch colour {
            case .black: (16, 128, 128)
            case .red: (82, 90, 240)
            case .green: (145, 54, 34)
            case .blue: (41, 240, 110)
            case .white: (235, 128, 128)
            }
        let found = (
            Int(planeY[y * strideY + x]), Int(planeU[y / 2 * strideUV + x / 2]), Int(planeV[y / 2 * strideUV + x / 2])
        )
        return abs(found.0 - expected.0) <= 2 && abs(found.1 - expected.1) <= 2 && abs(found.2 - expected.2) <= 2
    }
}

@Suite("Screens as text")
struct ScreenSpecificationTests {
    @Test(
        "each form has the meaning of the table",
        arguments: [
            ("", ScreenSpecification()), ("x11:", .init()), (":0", .init(display: ":0")),
            (":99.0", .init(display: ":99.0")), ("x11::0.0", .init(display: ":0.0")),
            ("host:10.0", .init(display: "host:10.0")), ("[::1]:0", .init(display: "[::1]:0")),
            ("HDMI-1", .init(area: .monitor("HDMI-1"))), ("DP-2.1", .init(area: .monitor("DP-2.1"))),
            (":0.0:HDMI-1", .init(display: ":0.0", area: .monitor("HDMI-1"))),
            ("x11:host:10:eDP-1", .init(display: "host:10", area: .monitor("eDP-1"))),
            ("0x1400003", .init(area: .window(0x140_0003))), ("+0x1400003", .init(area: .window(0x140_0003))),
            (":0.0+0x1400003", .init(display: ":0.0", area: .window(0x140_0003))),
            (":1+20971523", .init(display: ":1", area: .window(0x140_0003))),
        ])
    func forms(_ text: String, _ expected: ScreenSpecification) throws {
        let specification = try ScreenSpecification(text)
        #expect(specification == expected)
        #expect(try ScreenSpecification(specification.description) == expected, "\(specification)")
    }

    @Test(
        "invalid text is rejected",
        arguments: [
            ":0+", ":0+0x", ":0+0", ":0+0x0", ":0+-3", ":0+0x100000000", "0xmonitor", ":0:", ":0:a:b", ":x", ":", "a b",
            ":0.0:HDMI 1", String(repeating: "m", count: 600),
        ])
    func nonsense(_ text: String) {
        #expect(throws: DeviceError.self) { try ScreenSpecification(text) }
    }
}
