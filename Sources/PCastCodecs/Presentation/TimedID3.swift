/// The packets of a timed ID3 track: what stands in one is one tag or several.
///
/// Transport streams of HTTP Live Streaming carry tags as they are ("Timed Metadata for HTTP Live Streaming", section 2), in
/// streams of type 0x15. Others put a header of five bytes before them, that of a metadata access unit (ISO/IEC 13818-1,
/// section 2.12.4). libavformat 59 takes all for the latter and leaves out five bytes: with HTTP Live Streaming the tag's own
/// beginning, which is made again here from what follows it.
enum TimedID3 {
    private static let mark = Array("ID3".utf8)
    /// Of what libavformat leaves out: the mark, the version and the revision.
    private static let lostSize = 5
    /// What is left then of a tag's header: the flags and the size.
    private static let restSize = 5

    /// The tags of a packet, whole; as it is where it holds none.
    static func tags(in packet: UnsafeRawBufferPointer) -> [UInt8] {
        if packet.starts(with: mark) { return Array(packet) }
        let behindHeader = packet.dropFirst(lostSize)
        if behindHeader.starts(with: mark) { return Array(behindHeader) }
        let sizeBytes = packet.dropFirst(1).prefix(4)
        guard packet.count > restSize, sizeBytes.allSatisfy({ $0 < 0x80 }) else { return Array(packet) }
        let size = sizeBytes.reduce(0) { $0 << 7 | Int($1) }
        let body = packet.dropFirst(restSize)
        guard size <= body.count else { return Array(packet) }
        let version: UInt8 = hasFrames(body.prefix(size), bitsOfSize: 7) ? 4 : 3
        return mark + [version, 0] + packet
    }

    /// Whether a tag's frames fill it, but for padding: 2.4 has seven bits in each byte of their sizes, 2.3 has eight.
    private static func hasFrames(_ body: Slice<UnsafeRawBufferPointer>, bitsOfSize: Int) -> Bool {
        var rest = body
        while rest.count >= 10, rest.first != 0 {
            let bytes = rest.dropFirst(4).prefix(4)
            let size = bytes.reduce(0) { $0 << bitsOfSize | Int($1) }
            guard bytes.allSatisfy({ Int($0) < 1 << bitsOfSize }), size <= rest.count - 10 else { return false }
            rest = rest.dropFirst(10 + size)
        }
        return rest.allSatisfy { $0 == 0 }
    }
}
