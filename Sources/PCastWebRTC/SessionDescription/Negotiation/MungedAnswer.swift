import PCastCore

/// A peer's answer to the local offer, modified so that the peer applies what was negotiated as its own description.
///
/// Only some lines are changed. An answer may contain several formats per section, of which one was negotiated, or one of
/// each codec for a viewer of a stream whose publishers change. A browser plays Opus in mono unless its own description has
/// `stereo=1` (RFC 7587, section 6.1).
package struct MungedAnswer: Sendable {
    /// The answer as text, with the line endings of the peer.
    package let text: String

    /// Modifies an answer.
    ///
    /// - Parameters:
    ///   - answer: The text of the answer.
    ///   - session: The result of parsing and accepting it.
    package init(_ answer: String, keeping session: NegotiatedSession) {
        var lines: [String] = []
        var section = -1
        var dropped: Set<UInt8> = []
        var agreed: NegotiatedMedia?
        // Lines are split at line feeds. Swift treats `\r\n` as one character.
        for line in answer.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "\n" || $0 == "\r\n" }) {
            var line = String(line)
            if line.hasPrefix("m=") {
                section += 1
                agreed = session.media.first { $0.index == section }
                dropped = agreed.map { Self.others(in: line, than: Self.formats(of: $0)) } ?? []
                line = Self.without(dropped, in: line)
            } else if let type = Self.payloadType(of: line) {
                if dropped.contains(type) { continue }
                if let agreed { line = Self.withStereo(line, of: type, agreed) }
            }
            lines.append(line)
        }
        text = lines.joined(separator: answer.utf8.contains(UInt8(ascii: "\r")) ? "\r\n" : "\n")
    }

    /// Returns the formats of a section that are used: one that is received, or all that are sent.
    private static func formats(of section: NegotiatedMedia) -> [PayloadFormat] {
        section.direction.sends ? section.acceptablePayloads : [section.format]
    }

    /// Returns the payload types of an `m=` line that do not belong to the formats.
    private static func others(in line: String, than formats: [PayloadFormat]) -> Set<UInt8> {
        let kept = formats.flatMap { [$0.payloadType, $0.rtxPayloadType, $0.redPayloadType].compactMap(\.self) }
        return Set(line.split(separator: " ").dropFirst(3).compactMap { UInt8($0) }).subtracting(kept)
    }

    /// Removes payload types from an `m=` line.
    private static func without(_ types: Set<UInt8>, in line: String) -> String {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        let kept = words.enumerated().filter { index, word in
            index < 3 || !(UInt8(word).map { types.contains($0) } ?? false)
        }
        return kept.map { String($0.element) }.joined(separator: " ")
    }

    /// The attributes that begin with a payload type.
    private static let perFormat = ["a=rtpmap:", "a=fmtp:", "a=rtcp-fb:"]

    /// Returns the payload type of an attribute line; nil for other lines.
    private static func payloadType(of line: String) -> UInt8? {
        guard let prefix = perFormat.first(where: { line.hasPrefix($0) }) else { return nil }
        return UInt8(line.dropFirst(prefix.count).prefix { $0 != " " })
    }

    /// Adds `stereo=1` to the `fmtp` line of Opus that this side sends.
    private static func withStereo(_ line: String, of type: UInt8, _ media: NegotiatedMedia) -> String {
        guard media.codec == .opus, media.direction.sends, type == media.payloadType, line.hasPrefix("a=fmtp:"),
            media.format.parameters["stereo"] == nil
        else { return line }
        return line + ";stereo=1"
    }
}
