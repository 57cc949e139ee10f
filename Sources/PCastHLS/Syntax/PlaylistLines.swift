/// A line of a playlist that says something.
enum PlaylistLine {
    case tag(PlaylistTag, PlaylistText)
    case uri(PlaylistText)
}

/// The lines of a playlist, comments, unknown tags and empty lines left out.
struct PlaylistLines {
    private var rest: PlaylistText
    /// The number of the line that was answered last, from 1.
    private(set) var number = 0

    init(_ text: String) throws(PlaylistError) {
        guard text.utf8.count <= PlaylistLimits.textSize else { throw .tooLarge }
        rest = text[...].utf8
        guard let first = try nextText(), first.trimmed.matches("#EXTM3U") else { throw .notAPlaylist }
    }

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

    private mutating func nextText() throws(PlaylistError) -> PlaylistText? {
        guard !rest.isEmpty else { return nil }
        number += 1
        let end = rest.firstIndex(of: 0x0A) ?? rest.endIndex
        var line = rest[..<end]
        rest = end == rest.endIndex ? rest[end...] : rest[rest.index(after: end)...]
        if line.last == 0x0D { line = line.dropLast() }
        guard line.count <= PlaylistLimits.lineSize else { throw .lineTooLong(line: number) }
        // Tabs stand in titles.
        guard line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw .controlCharacter(line: number)
        }
        return line
    }
}
