/// Sources that leave; each concerns its SSRC alone, never the session (RFC 3550 section 6.6, RTCP6).
public struct Goodbye: Hashable, Sendable {
    let offset: Int
    /// 0...31.
    public let count: Int

    public func ssrc(_ index: Int, in datagram: Span<UInt8>) -> UInt32 {
        precondition(index >= 0 && index < count, "no such source")
        return datagram.bigEndian32(at: offset + index * 4)
    }
}
