/// A parser that detects RTSP responses that refer to another address (RFC 2326, section 11.3).
///
/// libavformat follows such responses without a check of the address. Therefore the connection is closed before the end
/// of the line is forwarded.
///
/// libavformat parses bytes (`ff_rtsp_read_reply`). A line ends with a line feed, and carriage returns are ignored. A
/// dollar sign at the beginning of a line begins a media packet (RFC 2326, section 10.12). C's `atoi` and zero-terminated strings accept text
/// that the standard does not permit. Everything that does not follow the standard is therefore rejected, so that both
/// parsers always agree.
///
/// Packets of less than 8 bytes are valid: some servers send empty ones, and an RTCP packet may have 4 bytes (RFC 3550,
/// section 6.6). libavformat uses none of them. It skips their content while it waits for a response, but parses it as
/// lines while it reads media. Therefore such packets are not forwarded.
package struct RTSPReplies {
    /// The reason why no more bytes may be forwarded.
    package enum Fault: Hashable {
        /// The response refers to another address.
        case redirect
        /// The response is not valid RTSP.
        case malformed
    }

    private enum ParserState {
        case line
        /// The bytes of a media packet's head that were read, which are its channel and length.
        case packetHead(read: Int, length: Int)
        case bytes(left: Int)
        /// The content of a packet that is not forwarded.
        case droppedBytes(left: Int)
    }

    private var state = ParserState.line
    private var line: [UInt8] = []
    private var isFirstLine = true
    private var contentLength = 0
    /// The bytes of the current line or of a packet's head that arrived and have not been forwarded.
    private var held: [UInt8] = []
    /// The bytes that may be forwarded after the last read, up to the last complete line or packet's head.
    package private(set) var passed: [UInt8] = []
    /// The nonce of the last challenge; nil if there is none.
    private var nonce: ArraySlice<UInt8>?
    /// The fault that was found; nil if there is none.
    package private(set) var fault: Fault?

    /// Creates a parser.
    package init() {}

    private static let longestLine = 1_023
    private static let longestContent = 1 << 20
    /// The size of the shortest packet that libavformat processes, in bytes.
    private static let shortestPacket = 8

    /// Parses bytes of the server. Returns whether the connection may continue. ``passed`` then has the bytes to
    /// forward.
    package mutating func pass(_ bytes: some Sequence<UInt8>) -> Bool {
        passed.removeAll(keepingCapacity: true)
        for byte in bytes {
            guard fault == nil else { return false }
            switch state {
            case .bytes(let left):
                state = left > 1 ? .bytes(left: left - 1) : .line
                passed.append(byte)
            case .droppedBytes(let left): state = left > 1 ? .droppedBytes(left: left - 1) : .line
            case .packetHead(let read, let length): takePacketHead(byte, read, length)
            case .line: takeLine(byte)
            }
        }
        return fault == nil
    }

    private mutating func takePacketHead(_ byte: UInt8, _ read: Int, _ length: Int) {
        held.append(byte)
        // The first byte is the channel.
        let length = read == 0 ? 0 : length << 8 | Int(byte)
        if read < 2 {
            state = .packetHead(read: read + 1, length: length)
        } else if length >= Self.shortestPacket {
            state = .bytes(left: length)
            release()
        } else {
            state = length > 0 ? .droppedBytes(left: length) : .line
            held.removeAll(keepingCapacity: true)
        }
    }

    private mutating func takeLine(_ byte: UInt8) {
        held.append(byte)
        guard held.count <= 2 * Self.longestLine else {
            fault = .malformed
            return
        }
        switch byte {
        case UInt8(ascii: "\n"):
            if line.isEmpty { endHead() } else { endLine() }
            line.removeAll(keepingCapacity: true)
            release()
        case UInt8(ascii: "$") where line.isEmpty:
            state = .packetHead(read: 0, length: 0)
        case UInt8(ascii: "\r"): break
        // A C string ends at a zero byte.
        case 0: fault = .malformed
        default:
            guard line.count < Self.longestLine else {
                fault = .malformed
                return
            }
            line.append(byte)
        }
    }

    private mutating func release() {
        passed += held
        held.removeAll(keepingCapacity: true)
    }

    private mutating func endHead() {
        state = contentLength > 0 ? .bytes(left: contentLength) : .line
        isFirstLine = true
        contentLength = 0
    }

    private mutating func endLine() {
        if isFirstLine { endFirstLine() } else { endField() }
        isFirstLine = false
    }

    /// Parses a status line such as `RTSP/1.0 200 OK`, or the request line of a server's request such as `OPTIONS *
    /// RTSP/1.0`.
    private mutating func endFirstLine() {
        guard line.starts(with: "RTSP/".utf8) else {
            let method = line.prefix { $0 != UInt8(ascii: " ") }
            let isRequest =
                !method.isEmpty && method.count < line.count
                && method.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || $0 == UInt8(ascii: "_") }
            if !isRequest { fault = .malformed }
            return
        }
        let text = line.dropFirst("RTSP/".utf8.count)
        let digits = [0, 2, 4, 5, 6]
        guard text.count >= 7, digits.allSatisfy({ Self.isDigit(text[text.startIndex + $0]) }),
            text[text.startIndex + 1] == UInt8(ascii: "."), text[text.startIndex + 3] == UInt8(ascii: " "),
            text.count == 7 || text[text.startIndex + 7] == UInt8(ascii: " ")
        else {
            fault = .malformed
            return
        }
        if text[text.startIndex + 4] == UInt8(ascii: "3") { fault = .redirect }
    }

    /// A challenge (RFC 7616, section 3.3): `WWW-Authenticate: Digest realm="…", nonce="…", stale="FALSE"`.
    private mutating func endChallenge() {
        guard let first = line.first, Self.lowercased(first) == UInt8(ascii: "w") else { return }
        let text = String(decoding: line, as: UTF8.self)
        guard let challenge = text.wholeMatch(of: #/(?i)www-authenticate:\s*digest\s.*?\bnonce\s*=\s*"([^"]*)".*/#)
        else {
            return
        }
        let nonce = Array(challenge.1.utf8)[...]
        defer { self.nonce = nonce }
        guard let former = self.nonce, former != nonce else { return }
        let stale = #/(?i)\bstale\s*=\s*"?[a-z]+"?/#
        let marked =
            text.firstMatch(of: stale) == nil
            ? text + ", stale=TRUE" : text.replacing(stale, with: "stale=TRUE", maxReplacements: 1)
        held = Array((marked + "\r\n").utf8)
    }

    private mutating func endField() {
        endChallenge()
        let name = Array("content-length:".utf8)
        guard line.count >= name.count, line.prefix(name.count).map(Self.lowercased) == name else { return }
        let value = Self.trimmed(line.dropFirst(name.count))
        var number = 0
        for byte in value {
            guard Self.isDigit(byte), number <= Self.longestContent else {
                fault = .malformed
                return
            }
            number = 10 * number + Int(byte - UInt8(ascii: "0"))
        }
        guard !value.isEmpty, number <= Self.longestContent else {
            fault = .malformed
            return
        }
        contentLength = number
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        while let first = bytes.first, isSpace(first) { bytes.removeFirst() }
        while let last = bytes.last, isSpace(last) { bytes.removeLast() }
        return bytes
    }
}
