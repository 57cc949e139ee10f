/// A JSON object that keeps its members in the order in which they were first set, as ECMAScript does for names that
/// are not integers.
public struct JSONObject: Hashable, Sendable {
    /// One name and its value.
    public struct Member: Hashable, Sendable {
        public let name: String
        public fileprivate(set) var value: JSONValue
    }

    /// In the order in which they are written.
    public private(set) var members: [Member] = []

    public init() {}

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

    /// Compact JSON, see ``JSONValue/text``.
    public var text: String { JSONValue.object(self).text }

    /// The object that `text` writes; nil for anything else, and beyond 16 KiB or 16 levels. Of members of one name
    /// the last counts.
    public init?(text: String) {
        guard case .object(let object)? = JSONReader.value(of: Array(text.utf8)) else { return nil }
        self = object
    }
}
