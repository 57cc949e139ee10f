/// A source description (RFC 3550, section 6.5), of which only canonical names are read.
public struct SourceDescription: Hashable, Sendable {
    /// The range of the chunks in the datagram.
    let range: Range<Int>
    /// The number of chunks according to the header.
    let count: Int

    /// Calls a function with each source that has a CNAME, and the range of the name in the datagram (UTF-8).
    public func forEachCNAME(in datagram: Span<UInt8>, _ body: (_ ssrc: UInt32, _ name: Range<Int>) -> Void) {
        var cursor = range.lowerBound
        for _ in 0..<count {
            guard cursor + 4 <= range.upperBound else { return }
            let ssrc = datagram.bigEndian32(at: cursor)
            cursor += 4
            let name = readItems(in: datagram, at: &cursor)
            if let name { body(ssrc, name) }
        }
    }

    /// Reads the items of a chunk, and moves the offset to the next chunk. Returns the range of the CNAME; nil if there
    /// is none.
    private func readItems(in datagram: Span<UInt8>, at cursor: inout Int) -> Range<Int>? {
        var name: Range<Int>?
        while cursor < range.upperBound, datagram[cursor] != 0 {
            guard cursor + 2 <= range.upperBound else { break }
            let stop = cursor + 2 + Int(datagram[cursor + 1])
            guard stop <= range.upperBound else { break }
            if datagram[cursor] == 1 { name = cursor + 2..<stop }
            cursor = stop
        }
        guard cursor < range.upperBound, datagram[cursor] == 0 else {
            cursor = range.upperBound
            return name
        }
        cursor += 4 - (cursor - range.lowerBound) % 4
        return name
    }
}
