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
