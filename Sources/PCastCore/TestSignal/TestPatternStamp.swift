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
