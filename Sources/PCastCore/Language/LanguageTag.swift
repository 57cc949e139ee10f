/// A language tag (RFC 5646, BCP 47) in its usual form, such as `en` or `pt-BR`.
package struct LanguageTag: Hashable, Sendable, CustomStringConvertible {
    /// The maximum length of a tag (RFC 5646, section 4.4.1).
    package static let maximumLength = 35

    /// The tag.
    package let description: String

    /// The first subtag, in lower case.
    private var primary: Substring { description.prefix { $0 != "-" } }

    /// Reads a tag, or a code of ISO 639-2 with three letters. A code for which there is one with two letters becomes that
    /// one (RFC 5646, section 2.2.1).
    ///
    /// It is nil if the text is no tag, or states that the language is undetermined (`und`).
    ///
    /// - Parameter text: The text of a publisher. Underscores count as hyphens.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= Self.maximumLength else { return nil }
        let subtags = text.lowercased().split(omittingEmptySubsequences: false) { $0 == "-" || $0 == "_" }
        guard let first = subtags.first, (2...8).contains(first.utf8.count), first.utf8.allSatisfy(\.isLetter),
            subtags.dropFirst().allSatisfy({ (1...8).contains($0.utf8.count) && $0.utf8.allSatisfy(\.isAlphanumeric) }),
            subtags.last.map({ $0.utf8.count > 1 }) ?? false, first != "und"
        else { return nil }
        var parts = [Self.shortCodes[String(first)] ?? String(first)]
        var isExtension = false
        for subtag in subtags.dropFirst() {
            isExtension = isExtension || subtag.utf8.count == 1
            let isAlphabetic = subtag.utf8.allSatisfy(\.isLetter)
            switch subtag.utf8.count {
            case 2 where isAlphabetic && !isExtension: parts.append(subtag.uppercased())
            case 4 where isAlphabetic && !isExtension: parts.append(subtag.prefix(1).uppercased() + subtag.dropFirst())
            default: parts.append(String(subtag))
            }
        }
        description = parts.joined(separator: "-")
    }

    /// The name of the language in this language, followed by the further subtags; the tag if the name is not known.
    package var name: String {
        guard let name = Self.names[String(primary)] else { return description }
        let rest = description.dropFirst(primary.count + 1)
        return rest.isEmpty ? name : "\(name) (\(rest))"
    }

    /// Returns whether both are the same language, perhaps of different regions or in different scripts.
    package func isSameLanguage(as other: LanguageTag) -> Bool { primary == other.primary }

    /// The codes with two letters (ISO 639-1) by those with three (ISO 639-2), terminological and bibliographic.
    private static let shortCodes: [String: String] = {
        var codes: [String: String] = [:]
        for entry in table.split(whereSeparator: \.isWhitespace) {
            let fields = entry.split(separator: ":").map { String($0) }
            for long in fields.dropFirst() { codes[long] = fields[0] }
        }
        return codes
    }()

    /// The codes of ISO 639-1, each with its codes of ISO 639-2.
    private static let table = """
        aa:aar ab:abk ae:ave af:afr ak:aka am:amh an:arg ar:ara as:asm av:ava ay:aym az:aze ba:bak be:bel bg:bul
        bh:bih bi:bis bm:bam bn:ben bo:bod:tib br:bre bs:bos ca:cat ce:che ch:cha co:cos cr:cre cs:ces:cze
        cu:chu cv:chv cy:cym:wel da:dan de:deu:ger dv:div dz:dzo ee:ewe el:ell:gre en:eng eo:epo es:spa et:est
        eu:eus:baq fa:fas:per ff:ful fi:fin fj:fij fo:fao fr:fra:fre fy:fry ga:gle gd:gla gl:glg gn:grn gu:guj
        gv:glv ha:hau he:heb hi:hin ho:hmo hr:hrv ht:hat hu:hun hy:hye:arm hz:her ia:ina id:ind ie:ile ig:ibo
        ii:iii ik:ipk io:ido is:isl:ice it:ita iu:iku ja:jpn jv:jav ka:kat:geo kg:kon ki:kik kj:kua kk:kaz
        kl:kal km:khm kn:kan ko:kor kr:kau ks:kas ku:kur kv:kom kw:cor ky:kir la:lat lb:ltz lg:lug li:lim ln:lin
        lo:lao lt:lit lu:lub lv:lav mg:mlg mh:mah mi:mri:mao mk:mkd:mac ml:mal mn:mon mr:mar ms:msa:may mt:mlt
        my:mya:bur na:nau nb:nob nd:nde ne:nep ng:ndo nl:nld:dut nn:nno no:nor nr:nbl nv:nav ny:nya oc:oci
        oj:oji om:orm or:ori os:oss pa:pan pi:pli pl:pol ps:pus pt:por qu:que rm:roh rn:run ro:ron:rum ru:rus
        rw:kin sa:san sc:srd sd:snd se:sme sg:sag si:sin sk:slk:slo sl:slv sm:smo sn:sna so:som sq:sqi:alb
        sr:srp ss:ssw st:sot su:sun sv:swe sw:swa ta:tam te:tel tg:tgk th:tha ti:tir tk:tuk tl:tgl tn:tsn to:ton
        tr:tur ts:tso tt:tat tw:twi ty:tah ug:uig uk:ukr ur:urd uz:uzb ve:ven vi:vie vo:vol wa:wln wo:wol xh:xho
        yi:yid yo:yor za:zha zh:zho:chi zu:zul
        """

    /// The names of languages in themselves, by their codes.
    private static let names: [String: String] = [
        "af": "Afrikaans", "ar": "العربية", "be": "Беларуская", "bg": "Български", "bn": "বাংলা", "bs": "Bosanski",
        "ca": "Català", "cs": "Čeština", "cy": "Cymraeg", "da": "Dansk", "de": "Deutsch", "el": "Ελληνικά",
        "en": "English", "es": "Español", "et": "Eesti", "eu": "Euskara", "fa": "فارسی", "fi": "Suomi",
        "fr": "Français", "ga": "Gaeilge", "gl": "Galego", "he": "עברית", "hi": "हिन्दी", "hr": "Hrvatski",
        "hu": "Magyar", "id": "Bahasa Indonesia", "is": "Íslenska", "it": "Italiano", "ja": "日本語", "ko": "한국어",
        "lt": "Lietuvių", "lv": "Latviešu", "mk": "Македонски", "ms": "Bahasa Melayu", "nb": "Norsk bokmål",
        "nl": "Nederlands", "nn": "Norsk nynorsk", "no": "Norsk", "pl": "Polski", "pt": "Português", "ro": "Română",
        "ru": "Русский", "sk": "Slovenčina", "sl": "Slovenščina", "sq": "Shqip", "sr": "Српски", "sv": "Svenska",
        "sw": "Kiswahili", "ta": "தமிழ்", "te": "తెలుగు", "th": "ไทย", "tr": "Türkçe", "uk": "Українська",
        "ur": "اردو", "vi": "Tiếng Việt", "zh": "中文",
    ]
}

extension UInt8 {
    fileprivate var isLetter: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
    }
    fileprivate var isAlphanumeric: Bool {
        isLetter || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
    }
}
