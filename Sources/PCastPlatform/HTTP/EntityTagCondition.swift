/// The value of `If-Match` (RFC 9110, section 13.1.1): `*`, or a list of entity tags of which one must match.
package enum EntityTagCondition: Equatable {
    /// The condition is met by any tag.
    case any
    /// The strong tags, including their quotes. Weak tags never match, because `If-Match` uses strong comparison
    /// (section 8.8.3.2).
    case tags([String])

    /// Parses all field lines, in order, which form one list (RFC 9110, section 5.3); nil if they are invalid.
    package init?(_ fields: [String]) {
        if fields.count == 1, fields[0].trimmingSpaces == "*" {
            self = .any
            return
        }
        var tags: [String] = []
        for field in fields {
            guard let more = Self.strongTags(field) else { return nil }
            tags += more
        }
        self = .tags(tags)
    }

    /// Returns whether a strong tag meets the condition.
    package func matches(_ tag: String) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains(tag)
        }
    }

    /// Parses a list; nil if it is invalid. Tags may contain commas, and empty elements are ignored (RFC 9110, section
    /// 5.6.1.2).
    private static func strongTags(_ field: String) -> [String]? {
        var tags: [String] = []
        var rest = field.utf8[...]
        while true {
            rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: ",") }
            guard !rest.isEmpty else { return tags }
            let isWeak = rest.starts(with: "W/".utf8)
            if isWeak { rest = rest.dropFirst(2) }
            let quote = UInt8(ascii: "\"")
            guard rest.first == quote, let end = rest.dropFirst().firstIndex(of: quote) else { return nil }
            if !isWeak { tags.append(String(decoding: rest[...end], as: UTF8.self)) }
            rest = rest[rest.index(after: end)...]
            let next = rest.first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
            guard next == nil || next == UInt8(ascii: ",") else { return nil }
        }
    }
}
