/// A line of a playlist that is not ignored.
enum PlaylistLine {
    /// A known tag and the text after its colon, which is empty if there is no colon.
    case tag(PlaylistTag, PlaylistText)
    /// A URI.
    case uri(PlaylistText)
}

/// The lines of a playlist, without comments, unknown tags and empty lines.
struct PlaylistLines {
    private var rest: PlaylistText
    /// The number of the last line that was returned, from 1.
    private(set) var number = 0

    /// Creates a reader and consumes the first line.
    ///
    /// - Parameter text: The playlist.
    /// - Throws: ``PlaylistError`` if the text is too large or does not begin with `#EXTM3U`.
    init(_ text: String) throws(PlaylistError) {
        guard text.utf8.count <= PlaylistLimits.textSize else { throw .tooLarge }
        rest = text[...].utf8
        guard let first = try nextText(), first.trimmed.matches("#EXTM3U") else { throw .notAPlaylist }
    }

    /// Returns the next line; nil at the end.
    ///
    /// - Returns: The tag or URI.
    /// - Throws: ``PlaylistError`` if a line is too long or contains a control character.
    mutating func next() throws(PlaylistError) -> PlaylistLine? {
        while let text = try nextText()?.trimmed {
            guard let first = text.first else { continue }
            guard first == UInt8(ascii: "#") else { return .uri(text) }
            guard text.hasPrefix("#EXT") else { continue }
            let (name, value) = text.dropFirst().divided(at: ":")
            guard let tag = PlaylistTag(rawValue: name.string) else { continue }
            return .tag(tag, (value ?? text[text.endIndex...]).trimmed)
        }
        return nil
    }

    /// Returns the text of the next line without its line ending; nil at the end.
    private mutating func nextText() throws(PlaylistError) -> PlaylistText? {
        guard !rest.isEmpty else { return nil }
        number += 1
        let end = rest.firstIndex(of: 0x0A) ?? rest.endIndex
        var line = rest[..<end]
        rest = end == rest.endIndex ? rest[end...] : rest[rest.index(after: end)...]
        if line.last == 0x0D { line = line.dropLast() }
        guard line.count <= PlaylistLimits.lineSize else { throw .lineTooLong(line: number) }
        // Titles may contain tabs.
        guard line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw .controlCharacter(line: number)
        }
        return line
    }
}
