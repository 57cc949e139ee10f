public import PCastMedia

/// A box of a fragment that tells something of a moment (`emsg`; ISO/IEC 23009-1, section 5.10.3.3).
public struct EventMessage: Hashable, Sendable {
    public var scheme: String
    public var value: String
    /// By the media's clock; or, where `isRelative`, from the beginning of the segment.
    public var time: TimeSpan
    public var isRelative: Bool
    /// nil where it is not known.
    public var duration: TimeSpan?
    public var id: UInt32
    public var message: [UInt8]

    static let limit = 256

    /// Those that stand at the beginning of a segment of fragmented MP4, between its other boxes.
    public static func all(in bytes: [UInt8]) -> [EventMessage] {
        var messages: [EventMessage] = []
        var place = 0
        while messages.count < limit, bytes.count - place >= 8 {
            let size = number(bytes[place..<(place + 4)])
            guard size >= 8, size <= UInt64(bytes.count - place) else { break }
            let end = place + Int(size)
            if bytes[(place + 4)..<(place + 8)].elementsEqual("emsg".utf8),
                let message = EventMessage(Array(bytes[(place + 8)..<end]))
            {
                messages.append(message)
            }
            place = end
        }
        return messages
    }

    /// - Parameter body: Behind the box's size and name.
    private init?(_ body: [UInt8]) {
        guard body.count >= 4, body[0] <= 1 else { return nil }
        var rest = body[4...]
        func text() -> String? {
            guard let end = rest.firstIndex(of: 0) else { return nil }
            defer { rest = rest[(end + 1)...] }
            return String(decoding: rest[..<end], as: UTF8.self)
        }
        func field(_ count: Int) -> UInt64? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return Self.number(rest.prefix(count))
        }
        isRelative = body[0] == 0
        if isRelative {
            guard let scheme = text(), let value = text() else { return nil }
            (self.scheme, self.value) = (scheme, value)
        } else {
            (scheme, value) = ("", "")
        }
        guard let scale = field(4), scale > 0, let time = field(isRelative ? 4 : 8), let duration = field(4),
            let id = field(4), let start = Self.span(time, scale)
        else { return nil }
        (self.time, self.id) = (start, UInt32(truncatingIfNeeded: id))
        self.duration = duration == UInt64(UInt32.max) ? nil : Self.span(duration, scale)
        if !isRelative {
            guard let scheme = text(), let value = text() else { return nil }
            (self.scheme, self.value) = (scheme, value)
        }
        message = Array(rest)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    /// nil for what no clock shows: a century and more.
    private static func span(_ ticks: UInt64, _ scale: UInt64) -> TimeSpan? {
        let seconds = Double(ticks) / Double(scale)
        return seconds < 3_155_760_000 ? TimeSpan(seconds: seconds) : nil
    }
}
