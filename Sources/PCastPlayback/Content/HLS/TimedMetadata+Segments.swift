internal import PCastCore
internal import PCastHLS

extension TimedMetadata {
    /// The scheme of event messages that contain an ID3 tag (AOMedia, "Carriage of ID3 Timed Metadata in CMAF").
    private static let taggedScheme = "https://aomedia.org/emsg/ID3"

    /// Returns the metadata of an event message.
    static func all(in message: EventMessage, at position: TimeSpan) -> [TimedMetadata] {
        if message.scheme == taggedScheme {
            let tagged = all(inTags: message.message, at: position)
            if !tagged.isEmpty { return tagged }
        }
        return [
            TimedMetadata(
                source: .emsg, position: position, duration: message.duration, name: message.scheme,
                identifier: String(message.id), value: text(message.message))
        ]
    }

    /// Creates the metadata of a date range.
    init(_ range: DateRange, in ranges: [DateRange], at position: TimeSpan) {
        var attributes = range.attributes.map { "\($0.name)=\($0.value.text)" }
        attributes += range.scte35.map { "\($0.kind.rawValue)=\($0.text)" }
        self.init(
            source: .dateRange, position: position,
            duration: ranges.end(of: range).map { max($0 - range.start, .zero) } ?? range.plannedDuration,
            name: range.classID ?? "", identifier: range.id, value: attributes.joined(separator: ","))
    }
}
