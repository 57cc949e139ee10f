import Glibc
import PCastCodecs
import PCastCore
import PCastNetworkEmulation
import Testing

/// Test frames whose content follows from their number.
enum SampleFrame {
    static let size = Dimensions(width: 640, height: 360)

    /// Returns a textured gradient that moves by `number`, with colors that are not gray.
    static func moving(_ number: Int, size: Dimensions = size, noise: Int = 0, rate: Int = 30) -> VideoFrame {
        let frame = VideoFramePool().frame(
            dimensions: size, captureTime: WallTime(millisecondsSinceEpoch: 1_700_000_000_000 + Int64(number)),
            timestamp: MediaTime(ticks: Int64(number) * 90_000 / Int64(rate), rate: .video))
        var random = UInt32(truncatingIfNeeded: number &* 2_654_435_761 | 1)
        for row in 0..<size.height {
            for column in 0..<size.width {
                var value = 40 + (column + 3 * number + row / 2) % 128 + ((column / 16 + row / 16) % 2) * 32
                if noise > 0 {
                    random ^= random << 13
                    random ^= random >> 17
                    random ^= random << 5
                    value += Int(random % UInt32(noise))
                }
                frame.planeY[row * frame.strideY + column] = UInt8(min(235, value))
            }
        }
        for row in 0..<(size.height + 1) / 2 {
            for column in 0..<(size.width + 1) / 2 {
                frame.planeU[row * frame.strideUV + column] = UInt8(90 + column % 64)
                frame.planeV[row * frame.strideUV + column] = UInt8(100 + row % 64)
            }
        }
        return frame
    }

    /// Returns a frame of one color.
    static func plain(y: UInt8, u: UInt8, v: UInt8, size: Dimensions) -> VideoFrame {
        let frame = VideoFramePool().frame(
            dimensions: size, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video))
        let half = (size.height + 1) / 2
        frame.planeY.update(repeating: y, count: frame.strideY * size.height)
        frame.planeU.update(repeating: u, count: frame.strideUV * half)
        frame.planeV.update(repeating: v, count: frame.strideUV * half)
        return frame
    }

    /// Returns the similarity of two frames of one size in dB, over all three planes.
    static func peakSignalToNoiseRatio(_ left: VideoFrame, _ right: VideoFrame) -> Double {
        precondition(left.dimensions == right.dimensions)
        var (squares, count) = (0, 0)
        func add(_ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>, _ stride: Int, _ width: Int, _ height: Int) {
            for row in 0..<height {
                for column in 0..<width {
                    let difference = Int(a[row * stride + column]) - Int(b[row * stride + column])
                    squares += difference * difference
                }
            }
            count += width * height
        }
        let (width, height) = (left.dimensions.width, left.dimensions.height)
        let (halfWidth, halfHeight) = ((width + 1) / 2, (height + 1) / 2)
        add(left.planeY, right.planeY, left.strideY, width, height)
        add(left.planeU, right.planeU, left.strideUV, halfWidth, halfHeight)
        add(left.planeV, right.planeV, left.strideUV, halfWidth, halfHeight)
        return squares == 0 ? .infinity : 10 * log10(255 * 255 * Double(count) / Double(squares))
    }
}

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
