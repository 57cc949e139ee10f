import Glibc
import PCastCodecs
import PCastCore

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
