/// A JSON object whose members keep the order in which they were first set.
public struct TimelineObject: Hashable, Sendable {
    /// One name and its value.
    public struct Member: Hashable, Sendable {
        public let name: String
        public fileprivate(set) var value: TimelineValue
    }

    public private(set) var members: [Member] = []

    public init() {}

    public init(_ members: KeyValuePairs<String, TimelineValue>) {
        for (name, value) in members { self[name] = value }
    }

    /// The value of a member, nil where there is none. A new value takes the place of the old one; nil removes it.
    public subscript(name: String) -> TimelineValue? {
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

    /// This one with what another says in addition and instead, objects within objects alike; a member that is null there is
    /// taken away (RFC 7396).
    public func merged(with patch: TimelineObject) -> TimelineObject {
        var merged = self
        for member in patch.members {
            switch member.value {
            case .null: merged[member.name] = nil
            case .object(let inner):
                merged[member.name] = .object((merged[member.name]?.object ?? TimelineObject()).merged(with: inner))
            default: merged[member.name] = member.value
            }
        }
        return merged
    }
}
