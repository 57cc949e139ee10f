/// What the time strip of a test picture says: which frame it is, and when it was captured.
public struct TestPictureStamp: Hashable, Sendable {
    /// Frames of the source, modulo 65,536.
    public var counter: UInt16

    /// UTC milliseconds since 1970, modulo 2^40.
    public let milliseconds: Int64

    private static let modulus: Int64 = 1 << 40

    public init(counter: UInt16, captureTime: WallTime) {
        self.counter = counter
        milliseconds = captureTime.millisecondsSinceEpoch & (Self.modulus - 1)
    }

    /// Reads the 64 bits of a strip; nil when their checksum is wrong.
    public init?(bits: UInt64) {
        let body = bits >> 8
        guard CyclicRedundancyCheck8.checksum(Self.bytes(of: body)) == UInt8(truncatingIfNeeded: bits) else {
            return nil
        }
        counter = UInt16(truncatingIfNeeded: body >> 40)
        milliseconds = Int64(body & UInt64(Self.modulus - 1))
    }

    /// The 64 bits of the strip, the first cell's the most significant.
    public var bits: UInt64 {
        let body = UInt64(counter) << 40 | UInt64(milliseconds)
        return body << 8 | UInt64(CyclicRedundancyCheck8.checksum(Self.bytes(of: body)))
    }

    /// The capture time that lies nearest to `reference` (the strip repeats itself after 34 years), to the millisecond.
    public func captureTime(near reference: WallTime) -> WallTime {
        let now = reference.millisecondsSinceEpoch
        var difference = (milliseconds - now) & (Self.modulus - 1)
        if difference >= Self.modulus / 2 { difference -= Self.modulus }
        return WallTime(millisecondsSinceEpoch: now + difference)
    }

    private static func bytes(of body: UInt64) -> some Sequence<UInt8> {
        stride(from: 48, through: 0, by: -8).lazy.map { UInt8(truncatingIfNeeded: body >> UInt64($0)) }
    }
}
