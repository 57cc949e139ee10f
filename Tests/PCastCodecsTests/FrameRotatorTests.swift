import PCastCore
import PCastTestSupport
import Testing

@testable import PCastCodecs

@Suite struct FrameRotatorTests {
    /// Returns a plane as numbers, row by row.
    private static func plane(
        _ pointer: UnsafeMutablePointer<UInt8>, _ stride: Int, _ width: Int, _ height: Int
    ) -> [[UInt8]] {
        (0..<height).map { row in (0..<width).map { pointer[row * stride + $0] } }
    }

    private static func planes(_ frame: VideoFrame) -> [[[UInt8]]] {
        let (width, height) = (frame.dimensions.width, frame.dimensions.height)
        return [
            plane(frame.planeY, frame.strideY, width, height),
            plane(frame.planeU, frame.strideUV, (width + 1) / 2, (height + 1) / 2),
            plane(frame.planeV, frame.strideUV, (width + 1) / 2, (height + 1) / 2),
        ]
    }

    private static func expected(_ plane: [[UInt8]], _ turn: FrameRotation, _ mirroring: FrameMirroring) -> [[UInt8]] {
        var plane = plane
        if mirroring.contains(.horizontal) { plane = plane.map { $0.reversed() } }
        if mirroring.contains(.vertical) { plane.reverse() }
        for _ in 0..<turn.degrees / 90 {
            let rotated = plane[0].indices.map { column in plane.reversed().map { $0[column] } }
            plane = rotated
        }
        return plane
    }

    @Test("every rotation and mirroring is exact, in every plane", arguments: FrameRotation.allCases, [0, 1, 2, 3])
    func exact(_ turn: FrameRotation, _ mirroring: Int) {
        let mirroring = FrameMirroring(rawValue: UInt8(mirroring))
        let rotator = FrameRotator()
        for size in [(64, 48), (642, 362), (18, 2), (2, 18), (66, 34)] {
            let frame = SampleFrame.plain(y: 0, u: 0, v: 0, size: Dimensions(width: size.0, height: size.1))
            var generator = SeededGenerator(seed: UInt64(size.0))
            for index in frame.memory.indices { frame.memory[index] = .random(in: 0...255, using: &generator) }
            let turned = rotator.turn(frame, by: turn, mirrored: mirroring)
            let sides = turn.exchangesSides ? (size.1, size.0) : size
            #expect(turned.dimensions == Dimensions(width: sides.0, height: sides.1))
            #expect(turned.timestamp == frame.timestamp)
            #expect(turned.captureTime == frame.captureTime)
            #expect(Self.planes(turned) == Self.planes(frame).map { Self.expected($0, turn, mirroring) })
        }
    }

    @Test("the identity returns the same frame") func identity() {
        let frame = SampleFrame.moving(1)
        let rotator = FrameRotator()
        #expect(rotator.turn(frame, by: .none) === frame)
        #expect(rotator.turn(frame, by: .half, mirrored: [.horizontal, .vertical]) === frame)
        #expect(rotator.turn(frame, by: .half) !== frame)
    }

    @Test("rotations are right angles, and add up") func turns() {
        #expect(FrameRotation(degrees: -90) == .clockwise270)
        #expect(FrameRotation(degrees: 450) == .clockwise90)
        #expect(FrameRotation(degrees: 45) == nil)
        #expect(FrameRotation.clockwise270 + .half == .clockwise90)
    }
}

struct FrameSqueezerTests {
    @Test(
        "a frame is drawn into its rectangle, and everything else is black",
        arguments: [(320, 180), (321, 181), (64, 36)])
    func place(width: Int, height: Int) {
        let pool = VideoFramePool()
        let frame = pool.frame(
            dimensions: Dimensions(width: width, height: height), captureTime: nil,
            timestamp: MediaTime(ticks: 7, rate: .video))
        frame.planeY.update(repeating: 200, count: frame.strideY * height)
        frame.planeU.update(repeating: 90, count: frame.strideUV * ((height + 1) / 2))
        frame.planeV.update(repeating: 160, count: frame.strideUV * ((height + 1) / 2))
        let squeezer = FrameScaler()
        let target = FrameRectangle(x: width / 2, y: 0, width: width / 2, height: height / 2)
        let squeezed = squeezer.draw(frame, into: target)
        #expect(squeezed.dimensions == frame.dimensions && squeezed.timestamp == frame.timestamp)
        let (left, bottom) = (target.x & ~1, target.height & ~1)
        let right = left + (target.width & ~1)
        for row in 0..<height {
            for column in 0..<width {
                let isInside = column >= left && column < right && row < bottom
                #expect(squeezed.planeY[row * squeezed.strideY + column] == (isInside ? 200 : 16))
            }
        }
        #expect(squeezed.planeU[left / 2] == 90 && squeezed.planeV[left / 2] == 160 && squeezed.planeU[0] == 128)
        // Rectangles beyond the frame, and empty ones.
        for odd in [
            FrameRectangle(x: -5, y: -5, width: 5_000, height: 5_000),
            FrameRectangle(x: width + 9, y: 0, width: 10, height: 10),
            FrameRectangle(x: 0, y: 0, width: 0, height: 9),
            FrameRectangle(x: 0, y: 0, width: -4, height: 9),
        ] { #expect(squeezer.draw(frame, into: odd).dimensions == frame.dimensions) }
    }
}
