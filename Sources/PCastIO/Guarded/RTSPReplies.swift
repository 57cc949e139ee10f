/// Watches what an RTSP server says for an answer that names another place (RFC 2326, section 11.3).
///
/// libavformat goes there by itself, past whoever judged the address, so the connection is cut before it hears of it. The
/// bytes are read as its reader reads them (`ff_rtsp_read_reply`): lines end with a line feed, carriage returns count for
/// nothing, a dollar sign at a line's beginning begins a packet of media.
struct RTSPReplies {
    private enum Place {
        case line
        /// Of a packet of media: channel and length are read.
        case packetHead(read: Int, length: Int)
        case bytes(left: Int)
    }

    private var place = Place.line
    private var line: [UInt8] = []
    private var lineNumber = 0
    private var contentLength = 0

    /// What is longer is cut off there too.
    private static let longestLine = 1_023

    /// Whether everything up to the end of these bytes may be passed on.
    mutating func pass(_ bytes: some Sequence<UInt8>) -> Bool {
        for byte in bytes {
            switch place {
            case .bytes(let left): place = left > 1 ? .bytes(left: left - 1) : .line
            case .packetHead(let read, let length): takePacketHead(byte, read, length)
            case .line: guard takeLine(byte) else { return false }
            }
        }
        return true
    }

    private mutating func takePacketHead(_ byte: UInt8, _ read: Int, _ length: Int) {
        // The first byte is the channel.
        let length = read == 0 ? 0 : length << 8 | Int(byte)
        if read < 2 {
            place = .packetHead(read: read + 1, length: length)
        } else {
            place = length > 0 ? .bytes(left: length) : .line
        }
    }

    /// - Returns: false for the line that says where to go.
    private mutating func takeLine(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\n"):
            defer { line.removeAll(keepingCapacity: true) }
            return endLine()
        case UInt8(ascii: "$") where line.isEmpty: place = .packetHead(read: 0, length: 0)
        case UInt8(ascii: "\r"): break
        default: if line.count < Self.longestLine { line.append(byte) }
        }
        return true
    }

    private mutating func endLine() -> Bool {
        if line.isEmpty {
            place = contentLength > 0 ? .bytes(left: contentLength) : .line
            lineNumber = 0
            contentLength = 0
            return true
        }
        defer { lineNumber += 1 }
        let text = String(decoding: line, as: UTF8.self)
        if lineNumber == 0 {
            let words = text.split { " \t".contains($0) }
            guard words.first?.hasPrefix("RTSP/") == true, words.count > 1 else { return true }
            return !(300...399).contains(Self.number(words[1]))
        }
        let name = "content-length:"
        if text.lowercased().hasPrefix(name) { contentLength = Self.number(text.dropFirst(name.count)) }
        return true
    }

    /// As C reads a number: what stands before anything else.
    private static func number(_ text: Substring) -> Int {
        let trimmed = text.drop { " \t".contains($0) }
        let digits = trimmed.drop { $0 == "+" }.prefix { ("0"..."9").contains($0) }
        return Int(digits) ?? 0
    }
}
