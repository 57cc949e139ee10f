internal import PCastCore

/// A document of timed text (W3C Timed Text Markup Language 2, Recommendation of 8 November 2018): its paragraphs with
/// their times. Styles, regions and images are ignored.
struct TimedTextDocument {
    /// A text that is shown between two times of the document.
    struct Paragraph: Hashable {
        var start: TimeSpan
        /// The end; nil if the document does not limit it.
        var end: TimeSpan?
        var text: String
    }

    /// The paragraphs in the order of the document. A paragraph whose spans have times of their own has one entry for
    /// each interval.
    private(set) var paragraphs: [Paragraph] = []

    /// The maximum depth of elements, and the maximum number of paragraphs, and of the texts of one of them.
    private static let depthLimit = 64
    private static let limit = 10_000
    /// The elements whose contents are not shown.
    private static let hidden: Set<String> = [
        "head", "metadata", "title", "desc", "copyright", "agent", "name", "actor", "set", "animate", "resources",
        "image", "audio", "data", "source", "chunk",
    ]

    private struct Interval: Hashable {
        var start: TimeSpan
        var end: TimeSpan?
    }

    private struct Element {
        var name: String
        var interval: Interval
        /// Whether the children follow each other (`timeContainer="seq"`).
        var isSequential = false
        /// The end of the last child of a sequential element.
        var reached: TimeSpan
        var keepsSpaces = false
        var isHidden = false
    }

    private var units = TimeUnits()
    private var elements: [Element] = []
    /// The texts of the current paragraph with their intervals; nil outside of a paragraph.
    private var texts: [(interval: Interval, text: String)]?

    /// Reads a document in UTF-8 or UTF-16. It is read up to the first error. Returns nil if it does not begin with an
    /// element `tt`.
    init?(_ bytes: ArraySlice<UInt8>) {
        var markup = MarkupReader(Self.decoded(bytes))
        var hasBegun = false
        while let item = markup.next() {
            switch item {
            case .start(let tag):
                if !hasBegun {
                    guard tag.localName == "tt" else { return nil }
                    hasBegun = true
                    units = TimeUnits(tag)
                }
                guard elements.count < Self.depthLimit, paragraphs.count < Self.limit else { return }
                begin(tag)
                if tag.isEmpty { end() }
            case .end(let name):
                guard name == elements.last?.name else { return }
                end()
            case .text(let text): add(text)
            }
            if hasBegun, elements.isEmpty { return }
        }
        if !hasBegun { return nil }
    }

    /// Returns a document in UTF-8. UTF-16 has a byte order mark.
    private static func decoded(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBig = bytes.starts(with: [0xFE, 0xFF])
        guard isBig || bytes.starts(with: [0xFF, 0xFE]) else { return bytes }
        let units = stride(from: bytes.startIndex + 2, to: bytes.endIndex - 1, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isBig ? first << 8 | second : second << 8 | first
        }
        return Array(String(decoding: units, as: UTF16.self).utf8)[...]
    }

    // MARK: Elements

    private mutating func begin(_ tag: MarkupReader.Tag) {
        let parent = elements.last
        let reference = parent.map { $0.isSequential ? $0.reached : $0.interval.start } ?? .zero
        let start = tag["begin"].flatMap(units.time).map { TimeUnits.sum(reference, $0) } ?? reference
        // The earliest end applies (Timed Text Markup Language 2, section 12.4).
        let ends = [
            parent?.interval.end, tag["end"].flatMap(units.time).map { TimeUnits.sum(reference, $0) },
            tag["dur"].flatMap(units.time).map { TimeUnits.sum(start, $0) },
        ]
        let name = tag.localName
        let element = Element(
            name: tag.name, interval: Interval(start: start, end: ends.compactMap(\.self).min()),
            isSequential: tag["timeContainer"] == "seq", reached: start,
            keepsSpaces: tag["xml:space"].map { $0 == "preserve" } ?? parent?.keepsSpaces ?? false,
            isHidden: parent?.isHidden ?? false || Self.hidden.contains(name))
        elements.append(element)
        guard !element.isHidden else { return }
        if name == "p", texts == nil { texts = [] }
        // A line break has the interval of the text around it.
        if name == "br", let parent, let count = texts?.count, count < Self.limit {
            texts?.append((parent.interval, "\n"))
        }
    }

    private mutating func end() {
        guard let element = elements.popLast() else { return }
        if let last = elements.indices.last, elements[last].isSequential, !element.isHidden {
            elements[last].reached = element.interval.end ?? element.interval.start
        }
        let isInParagraph = elements.contains { MarkupReader.localName($0.name) == "p" && !$0.isHidden }
        if !isInParagraph, MarkupReader.localName(element.name) == "p", !element.isHidden { finish() }
    }

    private mutating func add(_ text: String) {
        guard let element = elements.last, !element.isHidden, let count = texts?.count, count < Self.limit
        else { return }
        texts?.append((element.interval, element.keepsSpaces ? text : Self.collapsed(text)))
    }

    /// Ends a paragraph.
    private mutating func finish() {
        var order: [Interval] = []
        var joined: [Interval: String] = [:]
        for (interval, text) in texts ?? [] {
            if joined[interval] == nil { order.append(interval) }
            joined[interval, default: ""] += text
        }
        texts = nil
        for interval in order where interval.end.map({ interval.start < $0 }) ?? true {
            let lines = (joined[interval] ?? "").split(separator: "\n").map { Self.trimmed($0) }
            let text = lines.filter { !$0.isEmpty }.joined(separator: "\n")
            guard !text.isEmpty else { continue }
            paragraphs.append(Paragraph(start: interval.start, end: interval.end, text: text))
        }
    }

    private static func isSpace(_ character: Character) -> Bool {
        character == " " || character == "\n" || character == "\t" || character == "\r" || character == "\r\n"
    }

    /// Replaces each sequence of white space by one space.
    private static func collapsed(_ text: String) -> String {
        var result = ""
        for character in text {
            if !isSpace(character) { result.append(character) } else if result.last != " " { result.append(" ") }
        }
        return result
    }

    private static func trimmed(_ line: Substring) -> String {
        let rest = line.drop(while: isSpace)
        return String(
            rest.last.map(isSpace) == true ? rest[...(rest.lastIndex { !isSpace($0) } ?? rest.startIndex)] : rest)
    }
}

/// The units of times in a document of timed text.
private struct TimeUnits {
    private var framesPerSecond = 30.0
    private var framesPerSubframe = 1.0
    private var ticksPerSecond = 1.0

    /// The longest time, which is a century.
    private static let maximum = 3_155_760_000.0
    /// The maximum size of the text of a time, and of a parameter, in bytes.
    private static let textLimit = 64

    /// Creates the default units.
    init() {}

    /// Returns the sum of two times, at most the longest time.
    static func sum(_ first: TimeSpan, _ second: TimeSpan) -> TimeSpan {
        min(first + second, TimeSpan(seconds: maximum))
    }

    /// Reads the parameters of the root element (Timed Text Markup Language 2, section 7.2).
    init(_ root: MarkupReader.Tag) {
        func number(_ name: String) -> Double? {
            root.value(ofLocalName: name).flatMap { Double($0) }.flatMap { (1e-3...1e12).contains($0) ? $0 : nil }
        }
        let rate = number("frameRate")
        framesPerSecond = rate ?? framesPerSecond
        let multiplier = root.value(ofLocalName: "frameRateMultiplier") ?? ""
        let ratio = multiplier.utf8.count > Self.textLimit ? [] : multiplier.split { $0 == " " || $0 == ":" }
        if ratio.count == 2, let above = Double(ratio[0]), let below = Double(ratio[1]), above > 0, below > 0 {
            framesPerSecond *= above / below
        }
        framesPerSubframe = number("subFrameRate") ?? 1
        // Without a rate of ticks, it is that of frames, or one per second.
        ticksPerSecond = number("tickRate") ?? (rate == nil ? 1 : framesPerSecond * framesPerSubframe)
    }

    /// Reads a time expression (Timed Text Markup Language 2, section 12.3.1): `HH:MM:SS.fraction`, `HH:MM:SS:frames`, or
    /// a number with a unit.
    func time(_ text: String) -> TimeSpan? {
        guard text.utf8.count <= Self.textLimit else { return nil }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var seconds: Double?
        if parts.count == 1 {
            let unit = text.drop { $0.isNumber || $0 == "." }
            seconds = Self.number(text[..<unit.startIndex]).flatMap { number in
                switch unit {
                case "h": number * 3_600
                case "m": number * 60
                case "s": number
                case "ms": number / 1_000
                case "f": number / framesPerSecond
                case "t": number / ticksPerSecond
                default: nil
                }
            }
        } else if (3...4).contains(parts.count), let hours = Self.number(parts[0]), let minutes = Self.number(parts[1]),
            let rest = Self.number(parts[2])
        {
            seconds = hours * 3_600 + minutes * 60 + rest
            if parts.count == 4 {
                let frames = parts[3].split(separator: ".", omittingEmptySubsequences: false)
                guard let whole = Self.number(frames[0]) else { return nil }
                let part = frames.count > 1 ? Self.number(frames[1]) ?? 0 : 0
                seconds = seconds.map { $0 + (whole + part / framesPerSubframe) / framesPerSecond }
            }
        }
        guard let seconds, seconds < Self.maximum else { return nil }
        return TimeSpan(seconds: seconds)
    }

    /// Reads a number without a sign or an exponent.
    private static func number(_ text: Substring) -> Double? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E } ? Double(text) : nil
    }
}

/// Reads XML as tags and texts. Entities other than those of XML itself are left out, and no document type is read.
struct MarkupReader {
    /// A start tag.
    struct Tag {
        /// The name with its prefix.
        var name: String
        var attributes: [(name: String, value: String)] = []
        /// Whether the element ends with the tag.
        var isEmpty = false

        var localName: String { MarkupReader.localName(name) }

        /// Returns the value of an attribute by its name with its prefix.
        subscript(_ name: String) -> String? { attributes.first { $0.name == name }?.value }

        /// Returns the value of an attribute by its name without its prefix.
        func value(ofLocalName name: String) -> String? {
            attributes.first { MarkupReader.localName($0.name) == name }?.value
        }
    }

    enum Item {
        case start(Tag)
        case end(name: String)
        case text(String)
    }

    private var rest: ArraySlice<UInt8>

    /// The maximum number of attributes of an element.
    private static let attributeLimit = 256

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes
    }

    /// Returns a name without its prefix.
    static func localName(_ name: String) -> String {
        name.lastIndex(of: ":").map { String(name[name.index(after: $0)...]) } ?? name
    }

    /// Returns the next item; nil at the end and at an error.
    mutating func next() -> Item? {
        while !rest.isEmpty {
            guard rest.first == UInt8(ascii: "<") else {
                let text = rest.prefix { $0 != UInt8(ascii: "<") }
                rest = rest[text.endIndex...]
                return .text(Self.unescaped(text))
            }
            if skip("<!--") {
                guard passes("-->") != nil else { return nil }
            } else if skip("<![CDATA[") {
                return passes("]]>").map { .text(String(decoding: $0, as: UTF8.self)) }
            } else if skip("<?") {
                guard passes("?>") != nil else { return nil }
            } else if skip("<!") {
                // A document type with an internal subset would define entities.
                guard let type = passes(">"), !type.contains(UInt8(ascii: "[")) else { return nil }
            } else if skip("</") {
                return passes(">").map { .end(name: Self.string($0.prefix { !Self.isSpace($0) })) }
            } else {
                rest = rest.dropFirst()
                return tag().map { .start($0) }
            }
        }
        return nil
    }

    private mutating func skip(_ text: StaticString) -> Bool {
        guard rest.starts(with: "\(text)".utf8) else { return false }
        rest = rest.dropFirst(text.utf8CodeUnitCount)
        return true
    }

    /// Returns the bytes before a delimiter, and moves after it; nil if there is none.
    private mutating func passes(_ delimiter: StaticString) -> ArraySlice<UInt8>? {
        let mark = Array("\(delimiter)".utf8)
        var index = rest.startIndex
        while let found = rest[index...].firstIndex(of: mark[0]) {
            if rest[found...].starts(with: mark) {
                defer { rest = rest[(found + mark.count)...] }
                return rest[..<found]
            }
            index = found + 1
        }
        return nil
    }

    /// Reads the rest of a start tag.
    private mutating func tag() -> Tag? {
        let name = word()
        guard !name.isEmpty else { return nil }
        var tag = Tag(name: name)
        while tag.attributes.count <= Self.attributeLimit {
            rest = rest.drop(while: Self.isSpace)
            if skip("/>") {
                tag.isEmpty = true
                return tag
            }
            if skip(">") { return tag }
            let name = word()
            rest = rest.drop(while: Self.isSpace)
            guard !name.isEmpty, skip("=") else { return nil }
            rest = rest.drop(while: Self.isSpace)
            guard let quote = rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return nil }
            rest = rest.dropFirst()
            guard let end = rest.firstIndex(of: quote) else { return nil }
            tag.attributes.append((name, Self.unescaped(rest[..<end])))
            rest = rest[(end + 1)...]
        }
        return nil
    }

    private mutating func word() -> String {
        let word = rest.prefix { byte in
            !Self.isSpace(byte) && !"=/<>\"'".utf8.contains(byte)
        }
        rest = rest[word.endIndex...]
        return Self.string(word)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static func string(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Replaces character references and the entities of XML.
    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> String {
        guard bytes.contains(UInt8(ascii: "&")) else { return string(bytes) }
        var (result, rest) = (ArraySlice<UInt8>(), bytes)
        while let sign = rest.firstIndex(of: UInt8(ascii: "&")) {
            result += rest[..<sign]
            rest = rest[(sign + 1)...]
            guard let end = rest.prefix(16).firstIndex(of: UInt8(ascii: ";")) else {
                result.append(UInt8(ascii: "&"))
                continue
            }
            if let character = character(string(rest[..<end])) { result += String(character).utf8 }
            rest = rest[(end + 1)...]
        }
        return string(result + rest)
    }

    /// Returns the character of a reference; nil if it is unknown.
    private static func character(_ name: String) -> Character? {
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            guard name.hasPrefix("#") else { return nil }
            let digits = name.dropFirst()
            let value = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
            return value.flatMap(Unicode.Scalar.init).map { Character($0) }
        }
    }
}
