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
        let boxes = ISOBox.all(in: bytes[...]).lazy.filter { $0.isOf("emsg") }
        return Array(boxes.compactMap { EventMessage($0.contents) }.prefix(limit))
    }

    /// Parses the content of a box. Returns nil if it is truncated or has an unknown version.
    ///
    /// - Parameter body: The bytes after the size and the type of the box.
    private init?(_ body: ArraySlice<UInt8>) {
        var fields = BoxFields(body)
        guard let version = fields.number(1), version <= 1, fields.number(3) != nil else { return nil }
        isRelative = version == 0
        if isRelative {
            guard let scheme = fields.text(), let value = fields.text() else { return nil }
            (self.scheme, self.value) = (scheme, value)
        } else {
            (scheme, value) = ("", "")
        }
        guard let scale = fields.number(4), let time = fields.number(isRelative ? 4 : 8),
            let duration = fields.number(4), let id = fields.number(4), let start = TimeSpan(ticks: time, scale: scale)
        else { return nil }
        (self.time, self.id) = (start, UInt32(truncatingIfNeeded: id))
        self.duration = duration == UInt64(UInt32.max) ? nil : TimeSpan(ticks: duration, scale: scale)
        if !isRelative {
            guard let scheme = fields.text(), let value = fields.text() else { return nil }
            (self.scheme, self.value) = (scheme, value)
        }
        message = Array(fields.rest)
    }
}
