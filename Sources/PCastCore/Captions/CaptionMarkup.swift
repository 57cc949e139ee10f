/// Converts the markup of caption files to plain text.
enum CaptionMarkup {
    /// The tags that players of SubRip files support.
    private static let subRipTags: Set<String> = ["b", "i", "u", "s", "font"]
    /// The character references of WebVTT that need no number (W3C WebVTT, section 4.2.2, and quotation marks).
    private static let entities: [String: String] = [
        "amp": "&", "lt": "<", "gt": ">", "nbsp": "\u{A0}", "lrm": "\u{200E}", "rlm": "\u{200F}", "quot": "\"",
        "apos": "'",
    ]
    /// The maximum length of the name of a character reference.
    private static let maximumEntity = 8

    /// Removes the tags of a WebVTT cue, and replaces its character references.
    static func webVTT(_ text: String) -> String { decodingEntities(removingTags(text) { _ in true }) }

    /// Removes the tags of a SubRip cue, and the position tags in braces (`{\an8}`) that some programs write. Other
    /// angle brackets remain.
    static func subRip(_ text: String) -> String {
        let untagged = removingTags(text) { tag in
            let name = tag.drop { $0 == "/" }.prefix { $0.isLetter }
            return subRipTags.contains(name.lowercased())
        }
        var result = ""
        var rest = untagged[...]
        while let open = rest.firstIndex(of: "{") {
            let after = rest.index(after: open)
            guard after < rest.endIndex, rest[after] == "\\", let close = rest[after...].firstIndex(of: "}") else {
                result += rest[...open]
                rest = rest[after...]
                continue
            }
            result += rest[..<open]
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }

    /// Removes the tags for which `isTag` returns true, given their content. A tag without an end is text.
    private static func removingTags(_ text: String, _ isTag: (Substring) -> Bool) -> String {
        var result = ""
        var rest = text[...]
        while let open = rest.firstIndex(of: "<") {
            let after = rest.index(after: open)
            result += rest[..<open]
            guard let close = rest[after...].firstIndex(of: ">"), isTag(rest[after..<close]) else {
                result += "<"
                rest = rest[after...]
                continue
            }
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }

    private static func decodingEntities(_ text: String) -> String {
        var result = ""
        var rest = text[...]
        while let mark = rest.firstIndex(of: "&") {
            result += rest[..<mark]
            let after = rest.index(after: mark)
            guard let end = rest[after...].prefix(maximumEntity + 1).firstIndex(of: ";"),
                let character = character(rest[after..<end])
            else {
                result += "&"
                rest = rest[after...]
                continue
            }
            result += character
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    private static func character(_ name: Substring) -> String? {
        if let known = entities[String(name)] { return known }
        guard name.first == "#" else { return nil }
        let digits = name.dropFirst()
        let value = digits.first == "x" || digits.first == "X" ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
        return value.flatMap { Unicode.Scalar($0) }.map { String(Character($0)) }
    }
}
