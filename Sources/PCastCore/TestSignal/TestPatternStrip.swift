/// The time strip of the test frame: 64 cells across the top, white for 1 and black for 0. They carry a
/// ``TestPatternStamp`` through any encoder and scaler.
package enum TestPatternStrip {
    /// The number of cells.
    package static let cellCount = 64

    /// The luma of a cell in limited range.
    private static let white: UInt8 = 235
    private static let black: UInt8 = 16

    /// The minimum difference in luma between the brightest and the darkest cell of a valid strip.
    private static let minimumContrast = 60

    /// Returns the number of rows of the strip in a frame that is drawn with this height.
    package static func rowCount(frameHeight: Int) -> Int { max(16, frameHeight / 18) }

    /// Returns the columns of a cell.
    package static func columns(ofCell cell: Int, frameWidth: Int) -> Range<Int> {
        cell * frameWidth / cellCount..<(cell + 1) * frameWidth / cellCount
    }

    /// Draws the strip into the top rows of an I420 frame.
    package static func draw(_ stamp: TestPatternStamp, into frame: VideoFrame) {
        let dimensions = frame.dimensions
        let rows = min(rowCount(frameHeight: dimensions.height), dimensions.height)
        let bits = stamp.bits
        let luma = frame.luma
        for cell in 0..<cellCount {
            let columns = columns(ofCell: cell, frameWidth: dimensions.width)
            let isOne = bits >> UInt64(cellCount - 1 - cell) & 1 == 1
            luma.extracting(columns).update(repeating: isOne ? white : black)
        }
        let first = ByteView(luma.extracting(..<dimensions.width))
        for row in 1..<rows {
            luma.extracting((row * frame.strideY)...).copyMemory(from: first)
        }
        let chroma = frame.chroma
        for row in 0..<(rows + 1) / 2 {
            let start = row * frame.strideUV
            let columns = start..<start + (dimensions.width + 1) / 2
            chroma.u.extracting(columns).update(repeating: 128)
            chroma.v.extracting(columns).update(repeating: 128)
        }
    }

    /// Reads the strip of a frame of any size; nil if there is none or it is damaged.
    package static func read(_ frame: VideoFrame) -> TestPatternStamp? {
        let dimensions = frame.dimensions
        guard dimensions.width >= cellCount, dimensions.height >= 18 else { return nil }
        let cells = (0..<cellCount).map { brightness(ofCell: $0, in: frame) }
        guard let darkest = cells.min(), let brightest = cells.max(), brightest - darkest >= minimumContrast else {
            return nil
        }
        let threshold = (darkest + brightest) / 2
        return TestPatternStamp(bits: cells.reduce(0) { $0 << 1 | ($1 > threshold ? 1 : 0) })
    }

    /// Returns the mean luma of the center of a cell. In a frame that was scaled down, the strip has an eighteenth of
    /// the height. Therefore rows are read from the middle of that part, which a higher strip covers too.
    private static func brightness(ofCell cell: Int, in frame: VideoFrame) -> Int {
        let columns = columns(ofCell: cell, frameWidth: frame.dimensions.width)
        let margin = columns.count / 3
        let inner = columns.lowerBound + margin..<columns.upperBound - margin
        let height = frame.dimensions.height
        let rows = height / 60..<max(height / 26, height / 60 + 1)
        let luma = frame.luma
        var sum = 0
        for row in rows {
            for column in inner { sum += Int(luma[row * frame.strideY + column]) }
        }
        return sum / (rows.count * inner.count)
    }
}

/// The content of a test frame's time strip: the frame's number and capture time.
package struct TestPatternStamp: Hashable, Sendable {
    /// The number of the frame, modulo 65,536.
    package var counter: UInt16

    /// The capture time in milliseconds since 1970 (UTC), modulo 2^40.
    package let milliseconds: Int64

    private static let modulus: Int64 = 1 << 40

    /// Creates the content from a number and a capture time, which is rounded down to a millisecond.
    package init(counter: UInt16, captureTime: WallTime) {
        self.counter = counter
        milliseconds = captureTime.millisecondsSinceEpoch & (Self.modulus - 1)
    }

    /// Parses the 64 bits of a strip; nil if the checksum is wrong.
    package init?(bits: UInt64) {
        let body = bits >> 8
        guard CyclicRedundancyCheck8.checksum(Self.bytes(of: body)) == UInt8(truncatingIfNeeded: bits) else {
            return nil
        }
        counter = UInt16(truncatingIfNeeded: body >> 40)
        milliseconds = Int64(body & UInt64(Self.modulus - 1))
    }

    /// The 64 bits of the strip. The first cell is the most significant bit.
    package var bits: UInt64 {
        let body = UInt64(counter) << 40 | UInt64(milliseconds)
        return body << 8 | UInt64(CyclicRedundancyCheck8.checksum(Self.bytes(of: body)))
    }

    /// Returns the capture time nearest to `reference` with a precision of a millisecond. The values of the strip
    /// repeat every 34 years.
    package func captureTime(near reference: WallTime) -> WallTime {
        let now = reference.millisecondsSinceEpoch
        var difference = (milliseconds - now) & (Self.modulus - 1)
        if difference >= Self.modulus / 2 { difference -= Self.modulus }
        return WallTime(millisecondsSinceEpoch: now + difference)
    }

    private static func bytes(of body: UInt64) -> some Sequence<UInt8> {
        stride(from: 48, through: 0, by: -8).lazy.map { UInt8(truncatingIfNeeded: body >> UInt64($0)) }
    }
}

/// The CRC-8 of the test frame's time strip: polynomial 0x07, initial value 0, no reflection and no inversion.
package enum CyclicRedundancyCheck8 {
    /// Returns the checksum of the bytes.
    package static func checksum(_ bytes: some Sequence<UInt8>) -> UInt8 {
        var register: UInt8 = 0
        for byte in bytes {
            register ^= byte
            for _ in 0..<8 { register = register & 0x80 != 0 ? register &<< 1 ^ 0x07 : register &<< 1 }
        }
        return register
    }
}
