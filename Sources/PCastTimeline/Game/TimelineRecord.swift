public import PCastJSON

/// An object of the feed's schemas, whose known fields are properties. Each field may be missing. Values are kept as
/// they were received, and so are unknown fields.
public protocol TimelineRecord: Hashable, Sendable {
    /// The record as a JSON object.
    var object: JSONObject { get set }

    /// Creates a record from a JSON object, without validation.
    init(_ object: JSONObject)
}

extension TimelineRecord {
    /// Creates a record without fields.
    public init() { self.init(JSONObject()) }

    /// Returns the text of a field; nil if it is missing or of another type.
    func text(_ name: String) -> String? { object[name]?.string }

    /// Sets a field to text; nil removes it.
    mutating func set(_ name: String, _ text: String?) { object[name] = text.map { .string($0) } }

    /// Returns the texts in the list of a field; nil if it is missing or of another type.
    func texts(_ name: String) -> [String]? { object[name]?.array.map { $0.compactMap(\.string) } }

    /// Sets a field to a list of texts; nil removes it.
    mutating func set(_ name: String, _ texts: [String]?) {
        object[name] = texts.map { .array($0.map { .string($0) }) }
    }

    /// Returns the word of a field; nil if it is missing or of another type.
    func word<Word: SchemaString>(_ name: String) -> Word? { text(name).map { Word(rawValue: $0) } }

    /// Sets a field to a word; nil removes it.
    mutating func set(_ name: String, _ word: (some SchemaString)?) { set(name, word?.rawValue) }

    /// Returns the record of a field; nil if it is missing or of another type.
    func record<Record: TimelineRecord>(_ name: String) -> Record? { object[name]?.object.map { Record($0) } }

    /// Sets a field to a record; nil removes it.
    mutating func set(_ name: String, _ record: (some TimelineRecord)?) {
        object[name] = record.map { .object($0.object) }
    }

    /// Returns the records in the list of a field; nil if it is missing or of another type.
    func records<Record: TimelineRecord>(_ name: String) -> [Record]? {
        object[name]?.array.map { $0.compactMap(\.object).map { Record($0) } }
    }

    /// Sets a field to a list of records; nil removes it.
    mutating func set(_ name: String, _ records: [some TimelineRecord]?) {
        object[name] = records.map { .array($0.map { .object($0.object) }) }
    }
}

/// A word of the schemas. It is kept as it was received, even if the schemas do not have it.
public protocol SchemaString: RawRepresentable, Hashable, Sendable where RawValue == String {
    /// Creates a word from its text.
    init(rawValue: String)

    /// The words in the schemas.
    static var known: [Self] { get }
}
