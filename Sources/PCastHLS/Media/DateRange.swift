public import PCastMedia

/// Something that goes on for a while of wall time: an advertisement, a chapter, a score (`EXT-X-DATERANGE`; RFC 8216bis,
/// section 4.4.5.1).
public struct DateRange: Hashable, Sendable {
    public enum Cue: String, Hashable, Sendable {
        case pre = "PRE"
        case post = "POST"
        case once = "ONCE"
    }

    public var id: String
    public var classID: String?
    public var start: WallTime
    public var cues: Set<Cue>
    /// As it is written; ``DateRanges`` work out what is not.
    public var end: WallTime?
    public var duration: TimeSpan?
    public var plannedDuration: TimeSpan?
    /// It ends where the next one of its class begins.
    public var endsOnNext: Bool
    /// Splice information, in hexadecimal digits behind `0x` (SCTE 35).
    public var scte35: [SpliceInformation]
    /// Of the author, with names that begin with `X-`, sorted by name.
    public var attributes: [Attribute]

    public struct SpliceInformation: Hashable, Sendable {
        public enum Kind: String, Hashable, Sendable, CaseIterable {
            case command = "SCTE35-CMD"
            case out = "SCTE35-OUT"
            case back = "SCTE35-IN"
        }

        public var kind: Kind
        public var text: String

        public init(_ kind: Kind, _ text: String) {
            self.kind = kind
            self.text = text
        }
    }

    public struct Attribute: Hashable, Sendable {
        public var name: String
        public var value: AttributeValue

        public init(_ name: String, _ value: AttributeValue) {
            self.name = name
            self.value = value
        }
    }

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
    /// A tag adds to what an earlier one with its id said. The author's attributes are the reader's to add, once for all
    /// tags: one by one they would be sorted anew with each.
    ///
    /// - Returns: nil for what cannot be read, which costs the picture nothing and is left out.
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

    static func isOfAuthor(_ name: String) -> Bool { name.hasPrefix("X-") }

    var tag: AttributeWriter {
        var writer = AttributeWriter()
        writer.quoted("ID", id)
        writer.quoted("CLASS", classID)
        writer.quoted("START-DATE", start.iso8601)
        writer.quoted("CUE", cues.map(\.rawValue).sorted())
        writer.quoted("END-DATE", end?.iso8601)
        writer.seconds("DURATION", duration)
        writer.seconds("PLANNED-DURATION", plannedDuration)
        writer.yes("END-ON-NEXT", endsOnNext)
        for information in scte35 { writer.bare(information.kind.rawValue, information.text) }
        for attribute in attributes { writer.value(attribute.name, attribute.value) }
        return writer
    }
}

extension [DateRange] {
    /// When a range of this list ends: as it says, or by its duration, or where the next of its class begins; nil while
    /// that is not known.
    public func end(of range: DateRange) -> WallTime? {
        if let end = range.end { return end }
        if let duration = range.duration { return range.start + duration }
        guard range.endsOnNext, let classID = range.classID else { return nil }
        return filter { $0.classID == classID && $0.start > range.start }.map(\.start).min()
    }
}
