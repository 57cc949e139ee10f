import PCastCore

/// Redirects the player's requests for playlists, such as to an own delivery network (seed 004, "Stream Source Mapping";
/// Phenix: `PhenixStreamingSourceMapping`).
public struct StreamingSourceMapping: Hashable, Sendable {
    /// A regular expression, such as `https:\/\/phenixrts\.com\/video`; its first match in an address is replaced.
    public let patternToReplace: String
    /// What stands in its place, as it is: a dollar sign means nothing here.
    public let replacement: String

    /// - Throws: `badRequest` for a pattern that is empty, is no regular expression or matches nothing at all, and for a
    ///   replacement with spaces or control characters, which no address holds.
    public init(patternToReplace: String, replacement: String) throws(PCastError) {
        guard !patternToReplace.isEmpty, let pattern = try? Regex(patternToReplace) else {
            throw PCastError(
                .badRequest, .usage, "the pattern of the streaming source mapping is no regular expression")
        }
        guard (try? pattern.wholeMatch(in: "")) == nil else {
            throw PCastError(
                .badRequest, .usage,
                "the pattern of the streaming source mapping matches nothing: name what is replaced")
        }
        guard replacement.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F }) else {
            throw PCastError(
                .badRequest, .usage, "the replacement of the streaming source mapping has characters of no address")
        }
        self.patternToReplace = patternToReplace
        self.replacement = replacement
    }

    /// The address that is asked for in place of `address`; the same where the pattern is not in it.
    public func apply(to address: String) -> String {
        guard let pattern = try? Regex(patternToReplace),
            let match = try? pattern.firstMatch(in: address)
        else { return address }
        return String(address[..<match.range.lowerBound]) + replacement + address[match.range.upperBound...]
    }
}
