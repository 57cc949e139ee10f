import PCastCore

/// A redirection of the player's playlist requests, e.g. to another delivery network (Phenix:
/// `PhenixStreamingSourceMapping`).
public struct StreamingSourceMapping: Hashable, Sendable {
    /// The regular expression, e.g. `https:\/\/phenixrts\.com\/video`. Its first match in an address is replaced.
    public let patternToReplace: String
    /// The literal text that replaces the match. A dollar sign has no special meaning.
    public let replacement: String

    /// Creates a redirection.
    ///
    /// - Parameters:
    ///   - patternToReplace: The regular expression.
    ///   - replacement: The literal text that replaces the match.
    /// - Throws: ``PCastError`` with the status `badRequest` if the pattern is empty, malformed or matches the empty
    ///   text, and if the replacement has spaces or control characters.
    public init(patternToReplace: String, replacement: String) throws(PCastError) {
        guard !patternToReplace.isEmpty, let pattern = try? Regex(patternToReplace) else {
            throw PCastError(
                .badRequest, .usage, "the pattern of the streaming source mapping is not a valid regular expression")
        }
        guard (try? pattern.wholeMatch(in: "")) == nil else {
            throw PCastError(
                .badRequest, .usage,
                "the pattern of the streaming source mapping matches empty text: give a pattern of the text to replace")
        }
        guard replacement.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F }) else {
            throw PCastError(
                .badRequest, .usage,
                "the replacement of the streaming source mapping has characters that a URI may not contain")
        }
        self.patternToReplace = patternToReplace
        self.replacement = replacement
    }

    /// Returns the address with the first match replaced; the same address if there is no match.
    public func apply(to address: String) -> String {
        guard let pattern = try? Regex(patternToReplace),
            let match = try? pattern.firstMatch(in: address)
        else { return address }
        return String(address[..<match.range.lowerBound]) + replacement + address[match.range.upperBound...]
    }
}
