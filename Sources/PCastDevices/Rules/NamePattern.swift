/// A pattern for names, in which `*` matches any text and `?` any character. It ignores case.
struct NamePattern: Hashable, Sendable {
    private let pattern: [Character]

    init(_ text: String) { pattern = Array(text.lowercased()) }

    func matches(_ text: String) -> Bool {
        let text = Array(text.lowercased())
        var (place, position) = (0, 0)
        // The last star and the text position that it has reached. If the rest does not match, the star covers one more
        // character.
        var star: (place: Int, position: Int)?
        while position < text.count {
            if place < pattern.count, pattern[place] == "*" {
                star = (place, position)
                place += 1
            } else if place < pattern.count, pattern[place] == "?" || pattern[place] == text[position] {
                place += 1
                position += 1
            } else if let last = star {
                star = (last.place, last.position + 1)
                (place, position) = (last.place + 1, last.position + 1)
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == "*" }
    }
}
