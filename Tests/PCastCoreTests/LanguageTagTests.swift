import PCastCore
import Testing

/// Language tags of audio tracks, and the labels of the tracks.
@Suite("Language tags") struct LanguageTagTests {
    @Test(
        "a tag has its usual form, and a code of ISO 639-2 becomes the short one",
        arguments: [
            ("en", "en"), ("ENG", "en"), ("ger", "de"), ("deu", "de"), ("fre", "fr"), ("fra", "fr"), ("chi", "zh"),
            ("gsw", "gsw"), ("mul", "mul"), ("qaa", "qaa"), ("pt_br", "pt-BR"), ("zh-hant-tw", "zh-Hant-TW"),
            ("es-419", "es-419"), ("sl-rozaj-biske", "sl-rozaj-biske"), ("en-a-bbb-x-ab", "en-a-bbb-x-ab"),
        ])
    func form(text: String, tag: String) { #expect(LanguageTag(text)?.description == tag) }

    @Test(
        "other texts, and an undetermined language, are no tag",
        arguments: [
            "", "und", "UND", "e", "   ", "e1", "en-", "-en", "en--GB", "en-a", "en\"", "en,de", "en\n", "x-private",
            "anguilliform", "en-abcdefghi", "de-ä", "en-aaaaaaaa-bbbbbbbb-cccccccc-dddddddd",
        ])
    func malformed(text: String) { #expect(LanguageTag(text) == nil) }

    @Test("the name of a language is in this language, and that of an unknown one is its tag")
    func names() {
        #expect(LanguageTag("ger")?.name == "Deutsch")
        #expect(LanguageTag("pt-br")?.name == "Português (BR)")
        #expect(LanguageTag("gsw")?.name == "gsw")
    }

    @Test("tags of one language differ by their regions and scripts")
    func sameLanguage() throws {
        let german = try #require(LanguageTag("ger"))
        #expect(german.isSameLanguage(as: try #require(LanguageTag("de-AT"))))
        #expect(!german.isSameLanguage(as: try #require(LanguageTag("den"))))
    }

    @Test("tracks have different labels, and a single one without a language has none")
    func labels() throws {
        let german = AudioTrackDescription(language: LanguageTag("de"))
        let unknown = AudioTrackDescription()
        #expect(AudioTrackDescription.labels(of: []) == [])
        #expect(AudioTrackDescription.labels(of: [unknown]) == [nil])
        #expect(AudioTrackDescription.labels(of: [german]) == ["Deutsch"])
        let tracks = [german, unknown, german, unknown, german]
        #expect(
            AudioTrackDescription.labels(of: tracks) == ["Deutsch", "Audio 2", "Deutsch 2", "Audio 4", "Deutsch 3"])
    }
}
