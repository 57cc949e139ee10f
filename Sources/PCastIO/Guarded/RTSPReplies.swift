/// Reads what an RTSP server sends, for responses that name another place (RFC 2326, section 11.3).
///
/// libavformat goes there by itself, past whoever judged the address, so the connection is closed before the line's end
/// reaches it. It reads bytes and not characters (`ff_rtsp_read_reply`): a line ends with a line feed, carriage returns
/// count for nothing, a dollar sign at a line's beginning begins a packet of media, and C's `atoi` and strings that end at
/// a zero read what the standard does not know. What is not written as the standard has it is refused, so that no
/// difference between two readers matters.
///
/// A challenge with another nonce than the one before it is marked as stale (RFC 7616, section 3.3): cameras that change the
/// nonce with each method say that it is not, and libavformat would take that for a wrong password. It answers a challenge
/// once for each request, so a password that is wrong still ends.
struct RTSPReplies {
    /// Why nothing may be passed on any more.
    enum Fault: Hashable {
        /// The response names another place.
        case redirect
        /// The response is not written as RTSP has it.
        case malformed
    }

    private enum Place {
        case line
        /// Of a packet of media: channel and length are read.
        case packetHead(read: Int, length: Int)
        case bytes(left: Int)
    }

    private var place = Place.line
    private var line: [UInt8] = []
    private var isFirstLine = true
    private var contentLength = 0
    /// What of the present line has come and is not passed on yet, as it came.
    private var held: [UInt8] = []
    /// Of the bytes that were read last what may be passed on, up to the last line that is whole.
    private(set) var passed: [UInt8] = []
    /// Of the challenge that came last.
    private var nonce: ArraySlice<UInt8>?
    /// What was wrong with the bytes that may not be passed on.
    private(set) var fault: Fault?

    private static let longestLine = 1_023
    private static let longestContent = 1 << 20

    /// Reads on.
    ///
    /// - Returns: whether ``passed`` may be passed on; nothing may any more, where it may not.
    mutating func pass(_ bytes: some Sequence<UInt8>) -> Bool {
        passed.removeAll(keepingCapacity: true)
        for byte in bytes {
            guard fault == nil else { return false }
            switch place {
            case .bytes(let left):
                place = left > 1 ? .bytes(left: left - 1) : .line
                passed.append(byte)
            case .packetHead(let read, let length):
                takePacketHead(byte, read, length)
                passed.append(byte)
            case .line: takeLine(byte)
            }
        }
        return fault == nil
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
            place = .packetHead(read: 0, length: 0)
            release()
        case UInt8(ascii: "\r"): break
        // C's strings end there.
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
        place = contentLength > 0 ? .bytes(left: contentLength) : .line
        isFirstLine = true
        contentLength = 0
    }

    private mutating func endLine() {
        if isFirstLine { endFirstLine() } else { endField() }
        isFirstLine = false
    }

    /// `RTSP/1.0 200 OK`, or a request of the server's, such as `OPTIONS * RTSP/1.0`.
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
