import PCastMedia

/// A peer's answer to our offer, as the peer shall take it for its own description: held to what was agreed on.
///
/// Only the lines in question are changed, everything else stays as the peer has written it, known here or not. Of each
/// section we agreed on one format, while an answer may name several, of which a peer could take any; and a browser plays
/// Opus on one channel unless its own description asks for two (RFC 7587, section 6.1).
public struct EditedAnswer: Sendable {
    /// Lines end as the peer's do.
    public let text: String

    /// - Parameters:
    ///   - answer: the peer's text, as it could be read.
    ///   - session: what it was understood as.
    public init(_ answer: String, keeping session: NegotiatedSession) {
        var lines: [String] = []
        var section = -1
        var dropped: Set<UInt8> = []
        var agreed: NegotiatedMedia?
        // A line feed ends a line, and what stands before it belongs to it: `\r\n` is one character of Swift's.
        for line in answer.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "\n" || $0 == "\r\n" }) {
            var line = String(line)
            if line.hasPrefix("m=") {
                section += 1
                agreed = session.media.first { $0.index == section }
                dropped = agreed.map { Self.others(in: line, than: $0.format) } ?? []
                line = Self.without(dropped, in: line)
            } else if let type = Self.payloadType(of: line) {
                if dropped.contains(type) { continue }
                if let agreed { line = Self.withStereo(line, of: type, agreed) }
            }
            lines.append(line)
        }
        text = lines.joined(separator: answer.utf8.contains(UInt8(ascii: "\r")) ? "\r\n" : "\n")
    }

    /// The payload types of an `m=` line that are not the format's.
    private static func others(in line: String, than format: PayloadFormat) -> Set<UInt8> {
        let kept = [format.payloadType, format.rtxPayloadType, format.redPayloadType].compactMap { $0 }
        return Set(line.split(separator: " ").dropFirst(3).compactMap { UInt8($0) }).subtracting(kept)
    }

    private static func without(_ types: Set<UInt8>, in line: String) -> String {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        let kept = words.enumerated().filter { place, word in
            place < 3 || !(UInt8(word).map { types.contains($0) } ?? false)
        }
        return kept.map { String($0.element) }.joined(separator: " ")
    }

    private static let perFormat = ["a=rtpmap:", "a=fmtp:", "a=rtcp-fb:"]

    private static func payloadType(of line: String) -> UInt8? {
        guard let prefix = perFormat.first(where: { line.hasPrefix($0) }) else { return nil }
        return UInt8(line.dropFirst(prefix.count).prefix { $0 != " " })
    }

    /// What we send in two channels is asked for in two.
    private static func withStereo(_ line: String, of type: UInt8, _ media: NegotiatedMedia) -> String {
        guard media.codec == .opus, media.direction.sends, type == media.payloadType, line.hasPrefix("a=fmtp:"),
            media.format.parameters["stereo"] == nil
        else { return line }
        return line + ";stereo=1"
    }
}
