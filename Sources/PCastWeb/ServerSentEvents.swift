/// A parser of server-sent events (HTML Standard, section 9.2.6) of an untrusted server.
package struct ServerSentEvents: Sendable {
    /// An event.
    package struct Event: Hashable, Sendable {
        /// The type; `message` if the server sends none.
        package var type: String
        /// The data, whose lines are separated by line feeds.
        package var data: String

        /// Creates an event.
        package init(type: String, data: String) {
            self.type = type
            self.data = data
        }
    }

    /// An event is larger than the limit.
    package struct TooLarge: Error, Hashable, Sendable {}

    /// The identifier of the last position that the server has named; empty if there is none. A client that connects again
    /// sends it as `Last-Event-ID`.
    package private(set) var lastID = ""

    /// The maximum size of an event in bytes.
    private let limit: Int
    private var line: [UInt8] = []
    private var type = ""
    private var data: String?
    private var id = ""
    /// The size of the lines of the present event in bytes.
    private var size = 0
    private var isAfterCarriageReturn = false
    private var isFirstLine = true

    /// Creates a parser.
    ///
    /// - Parameter limit: The maximum size of an event in bytes.
    package init(limit: Int = 64 * 1_024) { self.limit = limit }

    /// Parses the next bytes of a response, which may end anywhere.
    ///
    /// - Returns: The events that are complete.
    /// - Throws: ``TooLarge``, after which the response must not be used any more.
    package mutating func parse(_ bytes: some Sequence<UInt8>) throws(TooLarge) -> [Event] {
        var events: [Event] = []
        for byte in bytes {
            let isSecondHalf = isAfterCarriageReturn && byte == UInt8(ascii: "\n")
            isAfterCarriageReturn = byte == UInt8(ascii: "\r")
            if isSecondHalf { continue }
            guard byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") else {
                size += 1
                guard size <= limit else { throw TooLarge() }
                line.append(byte)
                continue
            }
            if let event = endLine() { events.append(event) }
        }
        return events
    }

    /// Processes a line. Returns the event that it completes, if any.
    private mutating func endLine() -> Event? {
        defer { line.removeAll(keepingCapacity: true) }
        var text = line[...]
        if isFirstLine, text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
        isFirstLine = false
        guard !text.isEmpty else { return endEvent() }
        let colon = text.firstIndex(of: UInt8(ascii: ":"))
        let name = String(decoding: text[..<(colon ?? text.endIndex)], as: UTF8.self)
        var value = colon.map { text[($0 + 1)...] } ?? []
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch name {
        // Comments are no part of an event.
        case "": size -= line.count
        case "event": type = String(decoding: value, as: UTF8.self)
        case "data":
            let content = String(decoding: value, as: UTF8.self)
            data = data.map { $0 + "\n" + content } ?? content
        case "id": if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        default: break
        }
        return nil
    }

    private mutating func endEvent() -> Event? {
        defer { (type, data, size) = ("", nil, 0) }
        lastID = id
        return data.map { Event(type: type.isEmpty ? "message" : type, data: $0) }
    }
}
