public import PCastCore

/// A range of wall-clock time with attributes, e.g. an advertisement or a chapter (`EXT-X-DATERANGE`; RFC 8216bis,
/// section 4.4.5.1).
public struct DateRange: Hashable, Sendable {
    /// A value of the `CUE` attribute, which says when the client triggers the action of the range.
    public enum Cue: String, Hashable, Sendable {
        /// Before playback of the primary asset begins.
        case pre = "PRE"
        /// After playback of the primary asset has ended.
        case post = "POST"
        /// Only once per playback session.
        case once = "ONCE"
    }

    /// The unique ID of the range in its playlist (`ID`).
    public var id: String
    /// The class of the range (`CLASS`), whose ranges share the meaning of their attributes; nil if it has none.
    public var classID: String?
    /// The time at which the range begins (`START-DATE`).
    public var start: WallTime
    /// The values of `CUE`; empty if the attribute is missing.
    public var cues: Set<Cue>
    /// The time at which the range ends (`END-DATE`); nil if the attribute is missing.
    ///
    /// Use `[DateRange].end(of:)` for the end that results from the duration or the next range.
    public var end: WallTime?
    /// The duration (`DURATION`); nil if the attribute is missing.
    public var duration: TimeSpan?
    /// The expected duration while the actual one is unknown (`PLANNED-DURATION`); nil if the attribute is missing.
    public var plannedDuration: TimeSpan?
    /// Whether the range ends where the next range of its class begins (`END-ON-NEXT`).
    public var endsOnNext: Bool
    /// The SCTE 35 splice information of the range, at most one of each kind.
    public var scte35: [SpliceInformation]
    /// The client-defined attributes, whose names begin with `X-`, sorted by name.
    public var attributes: [Attribute]

    /// An SCTE 35 splice message that the range carries.
    public struct SpliceInformation: Hashable, Sendable {
        /// The attribute that carries the message.
        public enum Kind: String, Hashable, Sendable, CaseIterable {
            /// A splice command that marks neither the beginning nor the end of a break.
            case command = "SCTE35-CMD"
            /// The beginning of a break.
            case out = "SCTE35-OUT"
            /// The end of a break.
            case back = "SCTE35-IN"
        }

        /// The attribute that carries the message.
        public var kind: Kind
        /// The message in hexadecimal digits after `0x`.
        public var text: String

        /// Creates splice information from the attribute and its hexadecimal text.
        public init(_ kind: Kind, _ text: String) {
            self.kind = kind
            self.text = text
        }
    }

    /// A client-defined attribute.
    public struct Attribute: Hashable, Sendable {
        /// The name, which begins with `X-`.
        public var name: String
        /// The value, quoted or bare.
        public var value: AttributeValue

        /// Creates an attribute from its name, which begins with `X-`, and its value.
        public init(_ name: String, _ value: AttributeValue) {
            self.name = name
            self.value = value
        }
    }

    /// Creates a range; `attributes` must be sorted by name.
    public init(
        id: String, classID: String? = nil, start: WallTime, cues: Set<Cue> = [], end: WallTime? = nil,
        duration: TimeSpan? = nil, plannedDuration: TimeSpan? = nil, endsOnNext: Bool = false,
        scte35: [SpliceInformation] = [], attributes: [Attribute] = []
    ) {
        self.id = id
        self.classID = classID
        self.start = start
        self.cues = cues
        self.end = end
        self.duration = duration
        self.plannedDuration = plannedDuration
        self.endsOnNext = endsOnNext
        self.scte35 = scte35
        self.attributes = attributes
    }
}

extension DateRange {
    /// Reads a tag and merges it with the earlier tag of the same ID (RFC 8216bis, section 4.4.5.1). Returns nil if the
    /// tag cannot be read; playback does not depend on it, so the tag is ignored.
    ///
    /// The caller adds the client-defined attributes after all tags are read, so that they are sorted once and not once
    /// for each tag.
    ///
    /// - Parameters:
    ///   - list: The attributes of the tag.
    ///   - earlier: The range that earlier tags of the same ID describe; nil for the first tag.
    init?(_ list: AttributeList, addingTo earlier: DateRange?) {
        guard let id = list.string("ID"), !id.isEmpty else { return nil }
        var start = earlier?.start
        if let text = list.string("START-DATE") { start = WallTime(iso8601: text[...].utf8) }
        guard let start else { return nil }
        self = earlier ?? DateRange(id: id, start: start)
        self.start = start
        do {
            duration = try list.seconds("DURATION") ?? duration
            plannedDuration = try list.seconds("PLANNED-DURATION") ?? plannedDuration
        } catch { return nil }
        if let text = list.string("END-DATE") {
            guard let end = WallTime(iso8601: text[...].utf8) else { return nil }
            self.end = end
        }
        classID = list.string("CLASS") ?? classID
        cues.formUnion(list.list("CUE").compactMap(Cue.init(rawValue:)))
        endsOnNext = endsOnNext || list.isYes("END-ON-NEXT")
        for kind in SpliceInformation.Kind.allCases {
            guard let text = list.word(kind.rawValue) else { continue }
            scte35.removeAll { $0.kind == kind }
            scte35.append(SpliceInformation(kind, text))
        }
        scte35.sort { $0.kind.rawValue < $1.kind.rawValue }
    }

    /// In bytes of its texts.
    var size: Int {
        scte35.reduce(id.utf8.count + (classID?.utf8.count ?? 0)) { $0 + $1.text.utf8.count }
            + attributes.reduce(0) { $0 + $1.name.utf8.count + $1.value.text.utf8.count }
    }

    /// Returns whether an attribute name is client-defined.
    static func isOfAuthor(_ name: String) -> Bool { name.hasPrefix("X-") }

    /// The attributes of the `EXT-X-DATERANGE` tag that describes the range.
    var tag: AttributeWriter {
        var writer = AttributeWriter()
        writer.quoted("ID", id)
        writer.quoted("CLASS", classID)
        writer.quoted("START-DATE", start.iso8601)
        writer.quoted("CUE", cues.map(\.rawValue).sorted())
        writer.quoted("END-DATE", end?.iso8601)
        writer.seconds("DURATION", duration)
        writer.seconds("PLANNED-DURATION", plannedDuration)
        writer.yesIfSet("END-ON-NEXT", endsOnNext)
        for information in scte35 { writer.unquoted(information.kind.rawValue, information.text) }
        for attribute in attributes { writer.value(attribute.name, attribute.value) }
        return writer
    }
}

extension [DateRange] {
    /// Returns the time at which a range of this list ends: its `END-DATE`, or its start and `DURATION`, or the start
    /// of the next range of its class. Returns nil if none of these is known.
    package func end(of range: DateRange) -> WallTime? {
        if let end = range.end { return end }
        if let duration = range.duration { return PlaylistTimeline.sum(range.start, duration) }
        guard range.endsOnNext, let classID = range.classID else { return nil }
        return filter { $0.classID == classID && $0.start > range.start }.map(\.start).min()
    }

    /// Returns the duration of a range of this list, from its start to its end, which is zero if the end is before the
    /// start. Returns the planned duration if the end is unknown, or is too far away for 64 bits of nanoseconds. Returns
    /// nil if the planned duration is unknown too.
    package func duration(of range: DateRange) -> TimeSpan? {
        end(of: range)?.span(since: range.start).map { Swift.max($0, .zero) } ?? range.plannedDuration
    }
}
