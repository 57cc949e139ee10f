import PCastCodecs
import PCastCore
import PCastTestSupport
import Testing

@Suite struct FrameExportTests {
    private static func random(_ size: Dimensions, seed: UInt64) -> VideoFrame {
        let frame = SampleFrame.plain(y: 0, u: 0, v: 0, size: size)
        var generator = SeededGenerator(seed: seed)
        for index in frame.memory.indices { frame.memory[index] = .random(in: 16...235, using: &generator) }
        return frame
    }

    private static func write(_ frame: VideoFrame, _ format: FrameExport.Format, padding: Int) throws -> (
        [UInt8], Int
    ) {
        let stride = FrameExport.minimumStride(format, width: frame.dimensions.width) + padding
        let count = FrameExport.byteCount(format, dimensions: frame.dimensions, stride: stride)
        var bytes = [UInt8](repeating: 0xEE, count: count + 64)
        try bytes.withUnsafeMutableBytes {
            try FrameExport.write(
                frame, as: format, into: UnsafeMutableRawBufferPointer(rebasing: $0[..<count]), stride: stride)
        }
        #expect(bytes[count...].allSatisfy { $0 == 0xEE })
        return (bytes, stride)
    }

    @Test("planes are exported unchanged", arguments: [0, 10]) func planes(_ padding: Int) throws {
        for size in [Dimensions(width: 64, height: 48), Dimensions(width: 322, height: 182)] {
            let frame = Self.random(size, seed: 1)
            let (i420, stride) = try Self.write(frame, .i420, padding: padding)
            let (nv12, _) = try Self.write(frame, .nv12, padding: padding)
            let second = stride * size.height
            for row in 0..<size.height {
                for column in 0..<size.width {
                    let y = frame.planeY[row * frame.strideY + column]
                    #expect(i420[row * stride + column] == y && nv12[row * stride + column] == y)
                    let at = row / 2 * frame.strideUV + column / 2
                    let (u, v) = (frame.planeU[at], frame.planeV[at])
                    let planar = second + row / 2 * (stride / 2) + column / 2
                    #expect(i420[planar] == u && i420[planar + stride / 2 * (size.height / 2)] == v)
                    let pair = second + row / 2 * stride + column / 2 * 2
                    #expect(nv12[pair] == u && nv12[pair + 1] == v)
                }
            }
        }
    }

    @Test("red, green and blue follow BT.601", arguments: [FrameExport.Format.bgra, .rgba])
    func colours(_ format: FrameExport.Format) throws {
        let size = Dimensions(width: 320, height: 180)
        let frame = Self.random(size, seed: 2)
        let (bytes, stride) = try Self.write(frame, format, padding: 12)
        var worst = 0.0
        for row in 0..<size.height {
            for column in 0..<size.width {
                let at = row / 2 * frame.strideUV + column / 2
                let y = (Double(frame.planeY[row * frame.strideY + column]) - 16) / 219
                let (u, v) = ((Double(frame.planeU[at]) - 128) / 224, (Double(frame.planeV[at]) - 128) / 224)
                let r = y + 1.402 * v
                let b = y + 1.772 * u
                let g = (y - 0.299 * r - 0.114 * b) / 0.587
                let pixel = bytes[(row * stride + column * 4)...]
                let found = Array(pixel.prefix(4))
                let wanted = format == .bgra ? [b, g, r] : [r, g, b]
                for (value, expected) in zip(found, wanted) {
                    worst = max(worst, abs(Double(value) - min(255, max(0, expected * 255))))
                }
                #expect(found[3] == 255)
            }
        }
        #expect(worst <= 2.5)
    }

    @Test("too little memory and too short rows are rejected", arguments: FrameExport.Format.allCases)
    func tooSmall(_ format: FrameExport.Format) {
        let frame = Self.random(Dimensions(width: 64, height: 48), seed: 3)
        let count = FrameExport.byteCount(format, dimensions: frame.dimensions)
        var bytes = [UInt8](repeating: 0, count: count)
        for (room, stride) in [(count - 1, 0), (0, 0), (count, 63), (count, -4), (count, 1_000)] {
            #expect(throws: CodecError.self) {
                try bytes.withUnsafeMutableBytes {
                    try FrameExport.write(
                        frame, as: format, into: UnsafeMutableRawBufferPointer(rebasing: $0[..<room]), stride: stride)
                }
            }
        }
    }
}
