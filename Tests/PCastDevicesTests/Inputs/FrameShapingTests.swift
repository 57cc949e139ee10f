import PCastCodecs
import PCastCore
import Testing

@testable import PCastDevices

@Suite("Frames that are scaled and dropped by a selection")
struct FrameShapingTests {
    private let origin = WallTime(millisecondsSinceEpoch: 1_700_000_000_000)

    private func selection(
        of native: Dimensions, to output: Dimensions?, rate: Int = 30, to reduced: Int? = nil,
        isScreen: Bool = false
    ) -> VideoSelection {
        var device = ConstraintDevices.camera("c", "Camera", formats: [])
        if isScreen { device.info.deviceType = .systemOutput }
        var configuration = VideoConfiguration(dimensions: native, frameRate: FrameRate(rate))
        configuration.scaledDimensions = output
        configuration.reducedFrameRate = reduced.map { FrameRate($0) }
        return VideoSelection(
            device: device, configuration: configuration,
            explanation: ConstraintExplanation(candidates: [], reason: ""))
    }

    private func shaping(_ selection: VideoSelection) -> FrameShaping {
        FrameShaping(selection, guide: RotationGuide(accelerometer: AccelerometerMonitor()))
    }

    /// A black frame with a white square in the middle, whose sides are a fourth of the height.
    private func square(_ dimensions: Dimensions) -> VideoFrame {
        let frame = VideoFramePool().frame(
            dimensions: dimensions, captureTime: origin, timestamp: MediaTime(ticks: 0, rate: .video))
        for row in 0..<dimensions.height {
            for column in 0..<dimensions.width {
                let isInside =
                    abs(2 * row + 1 - dimensions.height) < dimensions.height / 4
                    && abs(2 * column + 1 - dimensions.width) < dimensions.height / 4
                frame.planeY[row * frame.strideY + column] = isInside ? 235 : 16
            }
        }
        return frame
    }

    /// The white pixels of a frame's middle row and middle column.
    private func sides(_ frame: VideoFrame) -> (width: Int, height: Int) {
        let (width, height) = (frame.dimensions.width, frame.dimensions.height)
        let across = (0..<width).filter { frame.planeY[height / 2 * frame.strideY + $0] > 126 }
        let down = (0..<height).filter { frame.planeY[$0 * frame.strideY + width / 2] > 126 }
        return (across.count, down.count)
    }

    @Test(
        "a square stays a square in the middle, whatever the shapes of the frame and of the size",
        arguments: [(1_920, 1_080), (1_600, 1_200), (2_560, 1_080), (1_280, 960)])
    func square(_ width: Int, _ height: Int) throws {
        let (native, output) = (Dimensions(width: width, height: height), Dimensions(width: 1_280, height: 720))
        let shaped = try #require(
            shaping(selection(of: native, to: output)).shaped(square(native), captured: origin))
        #expect(shaped.dimensions == output)
        #expect(shaped.captureTime == origin)
        let scale = max(1_280 / Double(width), 720 / Double(height))
        let expected = Double(height / 4) * scale
        let sides = sides(shaped)
        #expect(abs(Double(sides.width) - expected) <= 3 && abs(Double(sides.height) - expected) <= 3)
        #expect(abs(sides.width - sides.height) <= 2)
    }

    @Test("all of a screen is kept")
    func screen() throws {
        let native = Dimensions(width: 1_440, height: 1_440)
        let frame = square(native)
        for column in 0..<1_440 {
            for row in 0..<8 { frame.planeY[row * frame.strideY + column] = 235 }
        }
        let output = Dimensions(width: 720, height: 720)
        let shaped = try #require(
            shaping(selection(of: native, to: output, isScreen: true)).shaped(frame, captured: origin))
        #expect(shaped.dimensions == output)
        #expect((0..<720).allSatisfy { shaped.planeY[$0] > 200 })
    }

    @Test("a frame without a derived size or with a smaller one stays as it is")
    func unchanged() throws {
        let native = Dimensions(width: 640, height: 480)
        let frame = square(native)
        let own = try #require(shaping(selection(of: native, to: nil)).shaped(frame, captured: origin))
        #expect(own.planeY == frame.planeY)
        let larger = selection(
            of: Dimensions(width: 1_920, height: 1_080), to: Dimensions(width: 1_280, height: 720))
        #expect(try #require(shaping(larger).shaped(frame, captured: origin)).dimensions == native)
    }

    @Test(
        "frames are dropped evenly, also if their times are not exact",
        arguments: [(30, 15), (30, 20), (60, 24), (50, 1)])
    func dropping(_ rate: Int, _ reduced: Int) {
        var reduction = FrameRateReduction(from: FrameRate(rate), to: FrameRate(reduced))
        var kept: [Int] = []
        for index in 0..<(10 * rate) {
            let jitter = TimeSpan.milliseconds(Int64(index * 7 % 5) - 2)
            if reduction.keeps(origin + TimeSpan(seconds: Double(index) / Double(rate)) + jitter) { kept.append(index) }
        }
        #expect(abs(kept.count - 10 * reduced) <= 1)
        let steps = Set(zip(kept.dropFirst(), kept).map { $0 - $1 })
        let least = rate / reduced
        #expect(steps.isSubset(of: rate % reduced == 0 ? [least] : [least, least + 1]), "\(steps)")
    }

    @Test("a camera that is slower than the reduced rate loses no frames, and none come at once after a pause")
    func slow() {
        var reduction = FrameRateReduction(from: FrameRate(30), to: FrameRate(15))
        let slow = (0..<20).filter { reduction.keeps(origin + .milliseconds(Int64($0) * 100)) }
        #expect(slow.count == 20)
        let later = origin + .seconds(60)
        let burst = (0..<6).filter { reduction.keeps(later + .milliseconds(Int64($0) * 33)) }
        #expect(burst == [0, 2, 4])
        // The clock is set back.
        let isKept = reduction.keeps(origin)
        #expect(isKept)
    }

    @Test("a focus target of a frame that is cut is the same point of the whole one")
    func target() throws {
        let native = Dimensions(width: 1_600, height: 1_200)
        let part = FormatDerivation.part(of: native, for: Dimensions(width: 1_280, height: 720))
        #expect(part == FrameRectangle(x: 0, y: 150, width: 1_600, height: 900))
        let corner = try #require(FocusTarget(x: 1, y: 0)).moved(from: part, to: native)
        #expect(corner == FocusTarget(x: 1, y: 0.125))
        let middle = try #require(FocusTarget(x: 0.5, y: 0.5))
        #expect(middle.moved(from: part, to: native) == middle)
        #expect(middle.moved(from: nil, to: native) == middle)
    }
}
