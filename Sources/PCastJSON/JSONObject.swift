/// A JSON object whose members keep the order in which they were first set, as ECMAScript does for names that are not
/// integers.
public struct JSONObject: Sendable {
    /// One name and its value.
    public struct Member: Hashable, Sendable {
        public let name: String
        public internal(set) var value: JSONValue
    }

    public private(set) var members: [Member] = []

    public init() {}

    /// - Parameter members: each of another name.
    init(_ members: [Member]) { self.members = members }

    /// The last of several members of one name counts.
    public init(_ members: some Sequence<(String, JSONValue)>) {
        for (name, value) in members { self[name] = value }
    }

    /// In the order of their names.
    public init(sorting members: [String: JSONValue]) {
        self.members = members.sorted { $0.key < $1.key }.map { Member(name: $0.key, value: $0.value) }
    }

    /// The object that `text` writes; nil for anything else, and beyond the limits.
    public init?(text: String, within limits: JSONLimits = .standard) {
        guard let object = try? JSONValue(Array(text.utf8), within: limits).object else { return nil }
        self = object
    }

    /// The value of a member, nil where there is none. A new value takes the place of the old one; nil removes it.
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

    public var isEmpty: Bool { members.isEmpty }

    public var count: Int { members.count }

    /// Without the order.
    public var dictionary: [String: JSONValue] {
        Dictionary(members.lazy.map { ($0.name, $0.value) }) { _, last in last }
    }

    /// Compact JSON in UTF-8, see ``JSONValue/bytes``.
    public var bytes: [UInt8] { JSONValue.object(self).bytes }

    /// See `bytes`.
    public var text: String { JSONValue.object(self).text }

    /// This one with what another says in addition and instead, objects within objects alike; a member that is null there is
    /// taken away (RFC 7396).
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

/// Whether they say the same: in which order does not matter (RFC 8259, section 1).
extension JSONObject: Hashable {
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.count == right.count && (left.members == right.members || left.dictionary == right.dictionary)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(dictionary) }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// The last of several elements of one name counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self.init(elements) }
}
