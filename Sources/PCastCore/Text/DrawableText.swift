/// The characters that this program can draw itself, without a font: those of US-ASCII and the letters of Latin-1, and a few
/// punctuation marks.
package enum DrawableText {
    /// The mark of a letter.
    package enum Mark: Hashable, Sendable, CaseIterable {
        case grave
        case acute
        case circumflex
        case tilde
        case diaeresis
        case ring
        case cedilla
    }

    /// A letter of US-ASCII, and the mark above or below it.
    package struct MarkedLetter: Hashable, Sendable {
        /// The letter.
        package let letter: Character
        /// The mark.
        package let mark: Mark
    }

    /// The letters of each mark: those with it, and those without it, in the same order.
    private static let marks: [(mark: Mark, marked: String, letters: String)] = [
        (.grave, "ÀÈÌÒÙàèìòù", "AEIOUaeiou"), (.acute, "ÁÉÍÓÚÝáéíóúý", "AEIOUYaeiouy"),
        (.circumflex, "ÂÊÎÔÛâêîôû", "AEIOUaeiou"), (.tilde, "ÃÑÕãñõ", "ANOano"),
        (.diaeresis, "ÄËÏÖÜäëïöüÿ", "AEIOUaeiouy"), (.ring, "Åå", "Aa"), (.cedilla, "Çç", "Cc"),
    ]
    private static let markedLetters: [Character: MarkedLetter] = {
        var found: [Character: MarkedLetter] = [:]
        for (mark, marked, letters) in marks {
            for (character, letter) in zip(marked, letters) {
                found[character] = MarkedLetter(letter: letter, mark: mark)
            }
        }
        return found
    }()
    /// Letters without marks, and punctuation, that are not in US-ASCII.
    private static let others = "ÆÐØÞßæðøþ’“”–…"

    /// Returns the letter and the mark of a character; nil if it has no mark.
    package static func markedLetter(_ character: Character) -> MarkedLetter? { markedLetters[character] }

    /// All characters that can be drawn, including the space.
    package static let characters: Set<Character> = {
        var characters = Set((UInt8(0x20)...0x7E).map { Character(Unicode.Scalar($0)) })
        characters.formUnion(markedLetters.keys)
        characters.formUnion(others)
        return characters
    }()

    /// Returns the first character of a text that cannot be drawn; nil if there is none.
    package static func firstUndrawable(in text: String) -> Character? {
        text.first { !characters.contains($0) }
    }
}
