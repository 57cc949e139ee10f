/// A pattern for names, in which `*` matches any text and `?` any character. It ignores case.
struct NamePattern: Hashable, Sendable {
    private let pattern: [Character]

    init(_ text: String) { pattern = Array(text.lowercased()) }

    func matches(_ text: String) -> Bool {
        let text = Array(text.lowercased())
        var (index, position) = (0, 0)
        // The last star and the text position that it has reached. If the rest does not match, the star covers one more
        // character.
        var star: (index: Int, position: Int)?
        while position < text.count {
            if index < pattern.count, pattern[index] == "*" {
                star = (index, position)
                index += 1
            } else if index < pattern.count, pattern[index] == "?" || pattern[index] == text[position] {
                index += 1
                position += 1
            } else if let last = star {
                star = (last.index, last.position + 1)
                (index, position) = (last.index + 1, last.position + 1)
            } else {
                return false
            }
        }
        return pattern[index...].allSatisfy { $0 == "*" }
    }
}
