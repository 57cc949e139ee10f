import PCastCodecs
import PCastCore
import Testing

@Suite("Graphics over frames")
struct GraphicTests {
    /// Returns premultiplied red in the left half, and nothing in the right half.
    private static func red(_ size: Dimensions, alpha: UInt8 = 255) throws -> Graphic {
        try Graphic(
            premultipliedPNG: PNG.rgba(size) { column, _ in
                column < size.width / 2 ? [alpha, 0, 0, alpha] : [0, 0, 0, 0]
            })
    }

    private static func grey(_ size: Dimensions, matrix: MatrixCoefficients = .bt601) -> VideoFrame {
        let frame = VideoFramePool().frame(
            dimensions: size, captureTime: nil, timestamp: MediaTime(ticks: 7, rate: .video),
            color: VideoColor(matrix: matrix))
        for index in frame.memory.indices { frame.memory[index] = 128 }
        return frame
    }

    private static func sample(_ frame: VideoFrame, _ column: Int, _ row: Int) -> [Int] {
        let at = row / 2 * frame.strideUV + column / 2
        return [frame.planeY[row * frame.strideY + column], frame.planeU[at], frame.planeV[at]].map { Int($0) }
    }

    private static func isNear(_ sample: [Int], _ wanted: [Int]) -> Bool {
        zip(sample, wanted).allSatisfy { abs($0 - $1) <= 2 }
    }

    @Test("opaque parts cover, in the colors of the frame's matrix; transparent ones have no effect")
    func opaque() throws {
        let size = Dimensions(width: 64, height: 48)
        let red: [(MatrixCoefficients, [Int])] = [(.bt601, [81, 90, 240]), (.bt709, [63, 102, 240])]
        for (matrix, wanted) in red {
            let frame = Self.grey(size, matrix: matrix)
            let blended = try GraphicBlender().blend(Self.red(size), over: frame)
            #expect(blended.dimensions == size && blended.matrix == matrix && blended.timestamp == frame.timestamp)
            #expect(Self.isNear(Self.sample(blended, 10, 20), wanted), "\(Self.sample(blended, 10, 20))")
            #expect(Self.sample(blended, 50, 20) == [128, 128, 128])
            #expect(Self.sample(frame, 10, 20) == [128, 128, 128], "the input frame is unchanged")
        }
    }

    @Test("a half transparent part mixes")
    func half() throws {
        let size = Dimensions(width: 64, height: 48)
        let blended = try GraphicBlender().blend(Self.red(size, alpha: 128), over: Self.grey(size))
        let wanted = [(81 + 128) / 2, (90 + 128) / 2, (240 + 128) / 2]
        #expect(Self.isNear(Self.sample(blended, 10, 20), wanted), "\(Self.sample(blended, 10, 20))")
    }

    @Test("a graphic is scaled to each frame, and its colors do not mix with transparent ones")
    func scaled() throws {
        let blender = GraphicBlender()
        let graphic = try Self.red(Dimensions(width: 320, height: 180))
        for size in [
            Dimensions(width: 1280, height: 720), Dimensions(width: 160, height: 90), Dimensions(width: 98, height: 66),
        ] {
            let blended = try blender.blend(graphic, over: Self.grey(size))
            #expect(Self.isNear(Self.sample(blended, size.width / 4, size.height / 2), [81, 90, 240]))
            #expect(Self.sample(blended, size.width * 3 / 4, size.height / 2) == [128, 128, 128])
            // At the edge it is between the two, and no darker.
            let edge = (0..<8).map { Self.sample(blended, size.width / 2 - 4 + $0, size.height / 2)[0] }
            #expect(edge.allSatisfy { (79...130).contains($0) }, "\(edge)")
        }
    }

    @Test("a frame that nothing covers is passed on unchanged")
    func empty() throws {
        let frame = Self.grey(Dimensions(width: 64, height: 48))
        let nothing = try Self.red(Dimensions(width: 32, height: 32), alpha: 0)
        #expect(nothing.isEmpty)
        #expect(try GraphicBlender().blend(nothing, over: frame) === frame)
    }

    @Test("an invalid, truncated or too large PNG is rejected")
    func refused() throws {
        let whole = PNG.rgba(Dimensions(width: 64, height: 64)) { column, row in [UInt8(column), UInt8(row), 0, 255] }
        #expect(throws: Never.self) { try Graphic(premultipliedPNG: whole) }
        for bytes in [[], [1, 2, 3], Array(whole.prefix(whole.count / 2))] {
            #expect(throws: CodecError.self) { try Graphic(premultipliedPNG: bytes) }
        }
        let wide = PNG.rgba(Dimensions(width: 4_098, height: 2)) { _, _ in [0, 0, 0, 0] }
        #expect(throws: CodecError.self) { try Graphic(premultipliedPNG: wide) }
    }
}

/// Uncompressed PNG files (W3C's PNG specification; RFC 1950 and 1951).
private enum PNG {
    static func rgba(_ size: Dimensions, _ pixel: (_ column: Int, _ row: Int) -> [UInt8]) -> [UInt8] {
        var rows: [UInt8] = []
        for row in 0..<size.height {
            rows.append(0)
            for column in 0..<size.width { rows += pixel(column, row) }
        }
        var bytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        bytes += chunk("IHDR", number(size.width) + number(size.height) + [8, 6, 0, 0, 0])
        bytes += chunk("IDAT", stored(rows))
        return bytes + chunk("IEND", [])
    }

    private static func number(_ value: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    private static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        let body = Array(name.utf8) + data
        return number(data.count) + body + number(Int(checksum(body)))
    }

    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~0) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { value, _ in value >> 1 ^ (value & 1 == 0 ? 0 : 0xEDB8_8320) }
        }
    }

    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = [0x78, 0x01]
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(65_535)
            rest = rest.dropFirst(block.count)
            let (low, high) = (UInt8(truncatingIfNeeded: block.count), UInt8(truncatingIfNeeded: block.count >> 8))
            result += [rest.isEmpty ? 1 : 0, low, high, ~low, ~high] + block
        } while !rest.isEmpty
        var (first, second) = (1, 0)
        for byte in bytes {
            first = (first + Int(byte)) % 65_521
            second = (second + first) % 65_521
        }
        return result + number(second << 16 | first)
    }
}
