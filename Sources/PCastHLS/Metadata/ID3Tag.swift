internal import PCastMedia

/// Timed metadata as they stand in segments (ID3 2.3 and 2.4; RFC 8216, section 3.4).
public struct ID3Tag: Hashable, Sendable {
    public struct Frame: Hashable, Sendable {
        /// Such as `TXXX`, `COMM`, `PRIV`.
        public var id: String
        /// What `TXXX` and `COMM` describe themselves with, the owner of `PRIV`; else empty.
        public var name: String
        /// nil for what is no text.
        public var text: String?
        public var bytes: [UInt8]
    }

    public var frames: [Frame]
    /// In bytes, its header among them.
    public var size: Int

    static let frameLimit = 256
    /// Whose value is the moment of what follows it, by the clock of MPEG transport streams (RFC 8216, section 3.4).
    private static let timestampOwner = "com.apple.streaming.transportStreamTimestamp"

    /// - Parameter bytes: What begins with a tag, and may go on behind it.
    /// - Returns: nil where no tag stands, and where it is cut. Frames that cannot be read are left out.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count >= 10, bytes[0] == 0x49, bytes[1] == 0x44, bytes[2] == 0x33, bytes[3] < 5 else { return nil }
        let version = bytes[3]
        let body = Self.syncSafe(bytes[6..<10])
        let hasFooter = bytes[5] & 0x10 != 0
        size = 10 + body + (hasFooter ? 10 : 0)
        frames = []
        guard 10 + body <= bytes.count else { return nil }
        var rest = bytes[10..<(10 + body)]
        if bytes[5] & 0x40 != 0, rest.count >= 4 {
            // An extended header, whose size counts itself in 2.4 only.
            let length = version == 4 ? Self.syncSafe(rest.prefix(4)) : Self.number(rest.prefix(4)) + 4
            rest = rest.dropFirst(length)
        }
        while version >= 3, rest.count > 10, frames.count < Self.frameLimit, let first = rest.first, first != 0 {
            let id = String(decoding: rest.prefix(4), as: UTF8.self)
            let field = rest.dropFirst(4).prefix(4)
            let length = version == 4 ? Self.syncSafe(field) : Self.number(field)
            guard length > 0, length <= rest.count - 10 else { break }
            frames.append(Self.frame(id, Array(rest.dropFirst(10).prefix(length))))
            rest = rest.dropFirst(10 + length)
        }
    }

    /// How long a tag is, its header among it, that bytes begin with; nil where none begins there. The tag itself may be cut.
    public static func size(of bytes: some Collection<UInt8>) -> Int? {
        let head = Array(bytes.prefix(10))
        guard head.count == 10, head.starts(with: [0x49, 0x44, 0x33]), head[3] < 5, head[6...].allSatisfy({ $0 < 0x80 })
        else { return nil }
        return 10 + syncSafe(head[6..<10]) + (head[5] & 0x10 != 0 ? 10 : 0)
    }

    /// By the clock of MPEG transport streams, 33 bits at 90 kHz; nil where nothing says.
    public var transportTimestamp: Int64? {
        guard let bytes = frames.first(where: { $0.name == Self.timestampOwner })?.bytes, bytes.count == 8 else {
            return nil
        }
        return bytes.reduce(0) { $0 << 8 | Int64($1) } & ((1 << 33) - 1)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    private static func syncSafe(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 7 | Int($1 & 0x7F) } }

    private static func frame(_ id: String, _ body: [UInt8]) -> Frame {
        switch id {
        case "PRIV":
            let end = body.firstIndex(of: 0) ?? body.count
            return Frame(
                id: id, name: String(decoding: body[..<end], as: UTF8.self), text: nil,
                bytes: Array(body.dropFirst(end + 1)))
        case "TXXX":
            let texts = texts(body.dropFirst(), encoding: body[0])
            return Frame(id: id, name: texts.first ?? "", text: texts.dropFirst().joined(), bytes: body)
        case "COMM" where body.count > 4:
            let texts = texts(body.dropFirst(4), encoding: body[0])
            return Frame(id: id, name: texts.first ?? "", text: texts.dropFirst().joined(), bytes: body)
        case _ where id.hasPrefix("T"):
            return Frame(id: id, name: "", text: texts(body.dropFirst(), encoding: body[0]).first ?? "", bytes: body)
        default: return Frame(id: id, name: "", text: nil, bytes: body)
        }
    }

    /// Strings one behind another, each ended by a zero but the last perhaps.
    private static func texts(_ bytes: ArraySlice<UInt8>, encoding: UInt8) -> [String] {
        if encoding == 0 || encoding == 3 {
            let pieces = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
            return pieces.map { piece in
                let text = piece.prefix { $0 != 0 }
                return encoding == 3
                    ? String(decoding: text, as: UTF8.self) : String(text.map { Character(Unicode.Scalar($0)) })
            }
        }
        let isBigEndian = encoding == 2 || bytes.first == 0xFE
        var units: [UInt16] = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        units.removeAll { $0 == 0xFEFF || $0 == 0xFFFE }
        let pieces = units.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        return pieces.map { piece in String(decoding: piece.prefix { $0 != 0 }, as: UTF16.self) }
    }
}
