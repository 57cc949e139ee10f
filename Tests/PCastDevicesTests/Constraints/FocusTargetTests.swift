import PCastCodecs
import PCastCore
import Testing

@testable import PCastDevices

/// "The value must be coordinates as a CGPoint object where [0;0] is the top left of the image, and [1;1] the bottom
/// right."
@Suite("The focus target")
struct FocusTargetTests {
    /// Returns the position of the brightest sample, as a fraction of the width and the height.
    private func bright(_ frame: VideoFrame) -> (x: Double, y: Double) {
        var best = (luma: UInt8(0), x: 0, y: 0)
        for y in 0..<frame.dimensions.height {
            for x in 0..<frame.dimensions.width where frame.planeY[y * frame.strideY + x] > best.luma {
                best = (frame.planeY[y * frame.strideY + x], x, y)
            }
        }
        return (
            (Double(best.x) + 0.5) / Double(frame.dimensions.width),
            (Double(best.y) + 0.5) / Double(frame.dimensions.height)
        )
    }

    @Test(
        "is a position of the frame as displayed: the same object is in focus however the frame is rotated",
        arguments: FrameRotation.allCases)
    func rotation(_ turn: FrameRotation) throws {
        let rotator = FrameRotator()
        for (x, y) in [(3, 5), (60, 2), (10, 40), (63, 47)] {
            let captured = TestFrames.empty(Dimensions(width: 64, height: 48))
            captured.planeY[y * captured.strideY + x] = 235
            let displayed = bright(rotator.turn(captured, by: turn))
            let target = try #require(FocusTarget(x: displayed.x, y: displayed.y)).beforeRotation(turn)
            let wanted = bright(captured)
            #expect(abs(target.x - wanted.x) < 1e-9 && abs(target.y - wanted.y) < 1e-9, "\(target) is not \(wanted)")
        }
    }

    @Test("corners stay corners", arguments: FrameRotation.allCases)
    func corners(_ turn: FrameRotation) throws {
        for (x, y) in [(0.0, 0.0), (1, 0), (0, 1), (1, 1)] {
            let target = try #require(FocusTarget(x: x, y: y)).beforeRotation(turn)
            #expect([0, 1].contains(target.x) && [0, 1].contains(target.y))
        }
    }
}
