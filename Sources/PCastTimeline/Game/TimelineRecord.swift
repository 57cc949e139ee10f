public import PCastJSON

/// Something of the feed's schemas (seed 002): an object whose known fields have names here. Every field may be missing, each
/// is kept as it was given, and fields that nobody here knows go along.
public protocol TimelineRecord: Hashable, Sendable {
    var object: JSONObject { get set }

    init(_ object: JSONObject)
}

extension TimelineRecord {
    /// One of nothing.
    public init() { self.init(JSONObject()) }

    func text(_ name: String) -> String? { object[name]?.string }

    mutating func set(_ name: String, _ text: String?) { object[name] = text.map { .string($0) } }

    func texts(_ name: String) -> [String]? { object[name]?.array.map { $0.compactMap(\.string) } }

    mutating func set(_ name: String, _ texts: [String]?) {
        object[name] = texts.map { .array($0.map { .string($0) }) }
    }

    func word<Word: TimelineWord>(_ name: String) -> Word? { text(name).map { Word(rawValue: $0) } }

    mutating func set(_ name: String, _ word: (some TimelineWord)?) { set(name, word?.rawValue) }

    func record<Record: TimelineRecord>(_ name: String) -> Record? { object[name]?.object.map { Record($0) } }

    mutating func set(_ name: String, _ record: (some TimelineRecord)?) {
        object[name] = record.map { .object($0.object) }
    }

    func records<Record: TimelineRecord>(_ name: String) -> [Record]? {
        object[name]?.array.map { $0.compactMap(\.object).map { Record($0) } }
    }

    mutating func set(_ name: String, _ records: [some TimelineRecord]?) {
        object[name] = records.map { .array($0.map { .object($0.object) }) }
    }
}

/// A word of the schemas, as it was given; also one that they do not know.
public protocol TimelineWord: RawRepresentable, Hashable, Sendable where RawValue == String {
    init(rawValue: String)

    /// Those that the schemas know.
    static var known: [Self] { get }
}
