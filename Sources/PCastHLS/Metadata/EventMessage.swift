package import PCastCore

/// An event message box of a fragment, which carries timed metadata (`emsg`; ISO/IEC 23009-1, section 5.10.3.3).
package struct EventMessage: Hashable, Sendable {
    /// The scheme that defines the message (`scheme_id_uri`).
    package var scheme: String
    /// The value that distinguishes messages of the same scheme.
    package var value: String
    /// The time of the event on the media timeline, or from the beginning of the segment if `isRelative`.
    package var time: TimeSpan
    /// Whether ``time`` counts from the beginning of the segment (version 0 of the box).
    package var isRelative: Bool
    /// The duration of the event; nil if it is unknown.
    package var duration: TimeSpan?
    /// The ID of the message, which is the same in repetitions.
    package var id: UInt32
    /// The payload, in the format of the scheme.
    package var message: [UInt8]

    /// The most messages that are read from one segment.
    static let limit = 256

    /// Returns the event messages among the top-level boxes of a fragmented MP4 segment, at most 256. It stops at the
    /// first box that is truncated.
    package static func all(in bytes: [UInt8]) -> [EventMessage] {
        var messages: [EventMessage] = []
        var offset = 0
        while messages.count < limit, bytes.count - offset >= 8 {
            let size = number(bytes[offset..<(offset + 4)])
            guard size >= 8, size <= UInt64(bytes.count - offset) else { break }
            let end = offset + Int(size)
            if bytes[(offset + 4)..<(offset + 8)].elementsEqual("emsg".utf8),
                let message = EventMessage(Array(bytes[(offset + 8)..<end]))
            {
                messages.append(message)
            }
            offset = end
        }
        return messages
    }

    /// Parses the content of a box. Returns nil if it is truncated or has an unknown version.
    ///
    /// - Parameter body: The bytes after the size and the type of the box.
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

    /// Converts ticks of a timescale. Returns nil for a century or more, which is not a media time.
    private static func span(_ ticks: UInt64, _ scale: UInt64) -> TimeSpan? {
        let seconds = Double(ticks) / Double(scale)
        return seconds < 3_155_760_000 ? TimeSpan(seconds: seconds) : nil
    }
}
