import Foundation
import Testing

@testable import PCastDevices

@Suite("The JSON5 parser")
struct JSON5ReaderTests {
    @Test(
        "it parses like Foundation",
        arguments: [
            "{}", "[]", " [1, 2,] // end", "/* a */ { a: /* b */ 1, 'b': \"c\", \"d\": 'e', $_ü1: null, }", "0x1F",
            "-0xff",
            ".5", "5.", "+1.5e3", "-1E-2", "0", "true", "false", "null", "'it\\'s'",
            "\"\\b\\f\\n\\r\\t\\\\\\/\\x41\\u00e9\"",
            "'\\uD83D\\uDE00'", "[[[['deep']]]]",
            "{\"a\":{\"b\":[{\"c\":[]}]}}",
            "\r\n{\ta: 1}", "'ünïcödé 😀'",
        ])
    func valid(_ text: String) throws {
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        let expected = try decoder.decode(Value.self, from: Data(text.utf8))
        #expect(Value(try JSON5Reader.read(text)) == expected)
    }

    @Test(
        "it follows the specification where Foundation differs or fails",
        arguments: [
            ("'one \\\n line'", "one  line"), ("'one \\\r\n line'", "one  line"), ("'a\\\u{2028}b'", "ab"),
            ("\"\\v\\0\"", "\u{B}\0"), ("'\\q'", "q"), ("\u{FEFF}\u{2028}'x'\u{A0}", "x"), ("'\u{2029}'", "\u{2029}"),
        ])
    func strings(_ text: String, _ expected: String) throws {
        #expect(try JSON5Reader.read(text).content == .string(expected))
    }

    @Test(
        "invalid text is an error with its line",
        arguments: [
            ("", 1, "end of the text"), ("\n\n", 3, "end of the text"),
            ("{\n a: 1\n b: 2\n}", 3, "expected “,” or “}”"),
            ("{\n a: 1,\n\n a: 2 }", 4, "duplicated"), ("{ a 1 }", 1, "expected “:”"),
            ("[1\n, 2", 2, "expected “,” or “]”"),
            ("{\r\n a: 'x\n' }", 2, "not terminated on its line"), ("{ a: user }", 1, "write strings in quotes"),
            ("/* never\nends", 1, "a comment is not terminated"), ("{} {}", 1, "expected the end"),
            ("[01]", 1, "is not a number"),
            ("[1.2.3]", 1, "is not a number"), ("[--1]", 1, "is not a number"), ("[0x]", 1, "is not a number"),
            ("[1e]", 1, "is not a number"),
            ("[.]", 1, "is not a number"), ("[+]", 1, "is not a number"), ("[1e999]", 1, "is not a number"),
            ("['\\x4']", 1, "hexadecimal"),
            ("['\\u12']", 1, "hexadecimal"), ("['\\uDE00']", 1, "lone surrogate"),
            ("['\\uD83D']", 1, "lone surrogate"),
            ("['\\1']", 1, "not a valid escape sequence"), ("[NaN]", 1, "“NaN” is not a value"),
            ("[,]", 1, "“,” is unexpected"),
            ("{,}", 1, "“,” is unexpected"), ("{a:}", 1, "“}” is unexpected"), ("{1: 2}", 1, "“1” is unexpected"),
            (String(repeating: "[", count: 1_000), 1, "nested too deeply"),
            ("\u{2028}\u{2029}\r]", 4, "“]” is unexpected"),
            ("{\"a\": 'x\\", 1, "not terminated"), ("[/]", 1, "“/” is unexpected"), ("[１]", 1, "is unexpected"),
        ])
    func invalid(_ text: String, _ line: Int, _ reason: String) throws {
        let error = try #require(throws: JSON5Error.self) { try JSON5Reader.read(text) }
        #expect(error.line == line, "\(error)")
        #expect(error.reason.contains(reason), "\(error)")
    }

    @Test("values have their lines")
    func lines() throws {
        let value = try JSON5Reader.read("// one\n{ a: [\n1,\r2,\r\n3 ], /*\n\n*/ b: 4 }")
        guard case .object(let members) = value.content, case .array(let elements) = members[0].value.content else {
            Issue.record("\(value)")
            return
        }
        #expect(value.line == 2)
        #expect(elements.map(\.line) == [3, 4, 5])
        #expect(members.map(\.line) == [2, 7])
    }

    @Test("no text crashes the parser, and its result equals Foundation's if both succeed")
    func anything() throws {
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        let seeds = [
            "{ rules: [ { match: { vendor: '046d', name: \"*C9?0*\" }, rotation: 0x5A, hidden: true, }, ], } // x",
            "[1.5e3, -.5, '\\u00e9\\x41\\uD83D\\uDE00', null, /* y */ {a:{b:[[]]}}, \"\\n\"]",
        ].map { Array($0.unicodeScalars) }
        let alphabet = Array("{}[]:,'\"\\/*+-.0123456789xeEuaD \n\r\t_$é\u{2028}tfn".unicodeScalars)
        var cases = ConstraintCases(seed: 5)
        var accepted = 0
        for _ in 0..<5_000 {
            var scalars = cases.one(of: seeds)
            for _ in 0..<Int.random(in: 1...3, using: &cases) {
                let index = Int.random(in: 0..<scalars.count, using: &cases)
                switch Int.random(in: 0..<3, using: &cases) {
                case 0: scalars[index] = cases.one(of: alphabet)
                case 1: scalars.insert(cases.one(of: alphabet), at: index)
                default: scalars.remove(at: index)
                }
            }
            var view = String.UnicodeScalarView()
            view.append(contentsOf: scalars)
            let text = String(view)
            guard let value = try? JSON5Reader.read(text) else { continue }
            // Foundation keeps a line end in a string that a backslash should remove.
            let isContinued = zip(scalars, scalars.dropFirst()).contains { $0 == "\\" && $1.endsLine }
            guard !isContinued, let expected = try? decoder.decode(Value.self, from: Data(text.utf8)) else { continue }
            accepted += 1
            #expect(Value(value) == expected, "\(text.debugDescription)")
        }
        #expect(accepted > 500)
    }
}

/// The value by which Foundation and the project's reader are compared.
private enum Value: Equatable, Decodable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([Value])
    case object([String: Value])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let boolean = try? container.decode(Bool.self) {
            self = .boolean(boolean)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let string = try? container.decode(String.self) {
            self = .string(string)
        } else if let array = try? container.decode([Value].self) {
            self = .array(array)
        } else {
            self = .object(try container.decode([String: Value].self))
        }
    }

    init(_ value: JSON5Value) {
        switch value.content {
        case .null: self = .null
        case .boolean(let boolean): self = .boolean(boolean)
        case .number(let number): self = .number(number)
        case .string(let string): self = .string(string)
        case .array(let elements): self = .array(elements.map(Value.init))
        case .object(let members):
            self = .object(Dictionary(uniqueKeysWithValues: members.map { ($0.name, Value($0.value)) }))
        }
    }
}
