/// Restores the ID3 tags in packets of a timed ID3 track. A packet contains one or more tags.
///
/// MPEG-TS segments of HLS carry tags directly ("Timed Metadata for HTTP Live Streaming", section 2) in streams of type
/// 0x15. Other streams put a header of five bytes before them (metadata access unit; ISO/IEC 13818-1, section 2.12.4).
/// libavformat 59 always removes five bytes. For HLS, these are the first bytes of the tag, which are reconstructed
/// here from the rest.
enum TimedID3 {
    private static let mark = Array("ID3".utf8)
    /// The bytes of a tag that libavformat removes: the mark, the version and the revision.
    private static let lostSize = 5
    /// The rest of a tag's header: the flags and the size.
    private static let restSize = 5

    /// Returns the complete tags of a packet; the packet as it is if it contains none.
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

    /// Returns whether frames and padding fill a tag. Frame sizes have seven bits per byte in ID3v2.4 and eight in
    /// ID3v2.3.
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
