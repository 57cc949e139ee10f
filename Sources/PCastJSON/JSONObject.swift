/// A JSON object. Its members keep the order in which they were first set, as non-integer names do in ECMAScript.
public struct JSONObject: Sendable {
    /// A name and its value.
    public struct Member: Hashable, Sendable {
        /// The name, which is unique in the object.
        public let name: String
        /// The value.
        public internal(set) var value: JSONValue
    }

    /// The members, in the order in which they were first set.
    public private(set) var members: [Member] = []

    /// Creates an object without members.
    public init() {}

    /// Creates an object from members, whose names must be unique.
    init(_ members: [Member]) { self.members = members }

    /// Creates an object from names and values. If a name repeats, the last value counts.
    public init(_ members: some Sequence<(String, JSONValue)>) {
        for (name, value) in members { self[name] = value }
    }

    /// Creates an object whose members are sorted by name.
    public init(sorting members: [String: JSONValue]) {
        self.members = members.sorted { $0.key < $1.key }.map { Member(name: $0.key, value: $0.value) }
    }

    /// Parses an object. Returns nil if the text is not a JSON object or exceeds a limit.
    public init?(text: String, within limits: JSONLimits = .standard) {
        guard let object = try? JSONValue(Array(text.utf8), within: limits).object else { return nil }
        self = object
    }

    /// The value of a member; nil if there is none.
    ///
    /// A new value takes the position of the old one, and nil removes the member.
    public subscript(name: String) -> JSONValue? {
        get { members.first { $0.name == name }?.value }
        set {
            let index = members.firstIndex { $0.name == name }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    /// Whether the object has no members.
    public var isEmpty: Bool { members.isEmpty }

    /// The number of members.
    public var count: Int { members.count }

    /// The members without their order.
    public var dictionary: [String: JSONValue] {
        Dictionary(members.lazy.map { ($0.name, $0.value) }) { _, last in last }
    }

    /// The compact JSON text in UTF-8. See ``JSONValue/bytes``.
    public var bytes: [UInt8] { JSONValue.object(self).bytes }

    /// The compact JSON text. See ``JSONValue/bytes``.
    public var text: String { JSONValue.object(self).text }

    /// Returns the object with a JSON Merge Patch applied (RFC 7396): members of the patch are added or replaced,
    /// objects are merged, and null removes a member.
    public func merged(with patch: JSONObject) -> JSONObject {
        var merged = self
        for member in patch.members {
            switch member.value {
            case .null: merged[member.name] = nil
            case .object(let inner):
                merged[member.name] = .object((merged[member.name]?.object ?? JSONObject()).merged(with: inner))
            default: merged[member.name] = member.value
            }
        }
        return merged
    }
}

/// Objects are equal if they have the same members in any order (RFC 8259, section 1).
extension JSONObject: Hashable {
    /// Returns whether two objects have the same members.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.count == right.count && (left.members == right.members || left.dictionary == right.dictionary)
    }

    /// Hashes the members without their order.
    public func hash(into hasher: inout Hasher) { hasher.combine(dictionary) }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Creates an object. If a name repeats, the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self.init(elements) }
}
