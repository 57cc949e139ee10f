internal import PCastCore

/// A box of a segment in fragmented MP4 (ISO/IEC 14496-12, section 4.2).
struct ISOBox {
    /// The index of its first byte.
    let start: Int
    private let type: ArraySlice<UInt8>
    /// The bytes after its size and type.
    let contents: ArraySlice<UInt8>

    /// The index behind its last byte.
    var end: Int { contents.endIndex }

    /// Whether the box has a type.
    func isOf(_ name: String) -> Bool { type.elementsEqual(name.utf8) }

    /// The maximum number of boxes that are read from a box or a segment, so that small boxes do not need many times the
    /// memory of their bytes.
    private static let limit = 65_536

    /// Returns the boxes in some bytes, up to the first one that is truncated, at most 65,536. The indices are those of
    /// the bytes.
    static func all(in bytes: ArraySlice<UInt8>) -> [ISOBox] {
        var boxes: [ISOBox] = []
        var rest = bytes
        while rest.count >= 8, boxes.count < limit {
            var fields = BoxFields(rest)
            guard var size = fields.number(4) else { break }
            let type = fields.rest.prefix(4)
            fields.skip(4)
            if size == 0 { size = UInt64(rest.count) }
            if size == 1 {
                guard let large = fields.number(8) else { break }
                size = large
            }
            let head = fields.rest.startIndex - rest.startIndex
            guard size >= UInt64(head), size <= UInt64(rest.count) else { break }
            let end = rest.startIndex + Int(size)
            boxes.append(ISOBox(start: rest.startIndex, type: type, contents: fields.rest.prefix(Int(size) - head)))
            rest = rest[end...]
        }
        return boxes
    }

    /// Returns the contents of the first box at a path of nested boxes; nil if there is none.
    static func contents(of path: String..., in bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        path.reduce(Optional(bytes)) { parent, name in
            parent.flatMap { all(in: $0).first { $0.isOf(name) }?.contents }
        }
    }
}

/// Reads the fields of a box.
struct BoxFields {
    /// The bytes that were not read.
    private(set) var rest: ArraySlice<UInt8>

    /// Creates a reader of the contents of a box.
    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Reads a number in network byte order; nil if it is truncated.
    mutating func number(_ count: Int) -> UInt64? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Skips bytes.
    mutating func skip(_ count: Int) { rest = rest.dropFirst(count) }

    /// Reads a text that ends with a zero byte; nil if it is truncated.
    mutating func text() -> String? {
        guard let end = rest.firstIndex(of: 0) else { return nil }
        defer { rest = rest[(end + 1)...] }
        return String(decoding: rest[..<end], as: UTF8.self)
    }
}

extension TimeSpan {
    /// The shortest time that is not a media time: a century.
    private static let centurySeconds: UInt64 = 3_155_760_000

    /// Creates the time of a number of ticks. Returns nil for a century or more, which is not a media time, and for a
    /// timescale of zero.
    init?(ticks: UInt64, scale: UInt64) {
        guard scale > 0, ticks / scale < Self.centurySeconds else { return nil }
        let product = ticks.multipliedFullWidth(by: 1_000_000_000)
        self.init(nanoseconds: Int64(scale.dividingFullWidth(product).quotient))
    }
}
