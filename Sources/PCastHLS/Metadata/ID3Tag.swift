internal import PCastCore

/// An ID3v2 tag, in which HLS segments carry timed metadata and timestamps (ID3 2.3 and 2.4; RFC 8216, section 3.4).
package struct ID3Tag: Hashable, Sendable {
    /// A frame of the tag.
    package struct Frame: Hashable, Sendable {
        /// The four-character ID, e.g. `TXXX`, `COMM` or `PRIV`.
        package var id: String
        /// The description of a `TXXX` or `COMM` frame, or the owner of a `PRIV` frame; empty for other frames.
        package var name: String
        /// The text; nil if the frame is not a text frame.
        package var text: String?
        /// The private data of a `PRIV` frame; the whole content of other frames.
        package var bytes: [UInt8]

        /// Whether the frame is the timestamp of the media after the tag, and not metadata.
        package var isTransportTimestamp: Bool { id == "PRIV" && name == ID3Tag.timestampOwner }
    }

    /// The frames that could be read, at most 256.
    package var frames: [Frame]
    /// The size of the tag in bytes, including its header and footer.
    package var size: Int

    /// The most frames that are read.
    static let frameLimit = 256
    /// The owner of the `PRIV` frame whose value is the timestamp of the media after the tag (RFC 8216, section 3.4).
    private static let timestampOwner = "com.apple.streaming.transportStreamTimestamp"

    /// Parses the tag at the beginning of the bytes. Returns nil if there is no tag or it is truncated; frames that
    /// cannot be read are left out.
    ///
    /// - Parameter bytes: The tag. Bytes after its end are ignored.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= 10, bytes[0] == 0x49, bytes[1] == 0x44, bytes[2] == 0x33, bytes[3] < 5 else { return nil }
        let version = bytes[3]
        let body = Self.syncSafe(bytes[6..<10])
        let hasFooter = bytes[5] & 0x10 != 0
        size = 10 + body + (hasFooter ? 10 : 0)
        frames = []
        guard 10 + body <= bytes.count else { return nil }
        var rest = bytes[10..<(10 + body)]
        if bytes[5] & 0x40 != 0, rest.count >= 4 {
            // The size of an extended header includes itself only in version 2.4.
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

    /// Returns the size in bytes, including the header, of the tag at the beginning of the bytes, which may be
    /// truncated. Returns nil if there is no tag.
    package static func size(of bytes: some Collection<UInt8>) -> Int? {
        let head = Array(bytes.prefix(10))
        guard head.count == 10, head.starts(with: [0x49, 0x44, 0x33]), head[3] < 5, head[6...].allSatisfy({ $0 < 0x80 })
        else { return nil }
        return 10 + syncSafe(head[6..<10]) + (head[5] & 0x10 != 0 ? 10 : 0)
    }

    /// The timestamp of the media after the tag on the MPEG-2 clock, 33 bits at 90 kHz; nil if the tag has none.
    package var transportTimestamp: Int64? {
        guard let bytes = frames.first(where: { $0.name == Self.timestampOwner })?.bytes, bytes.count == 8 else {
            return nil
        }
        return bytes.reduce(0) { $0 << 8 | Int64($1) } & ((1 << 33) - 1)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    /// Returns the value of an integer whose bytes have seven bits each (ID3 2.4, section 6.2).
    private static func syncSafe(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 7 | Int($1 & 0x7F) } }

    /// Returns a frame with the name and text that its ID implies.
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

    /// Decodes up to two zero-terminated strings; the last one may lack its terminator.
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
