import PCastYAML
import Testing

@Suite("YAML of configuration files")
struct YAMLValueTests {
    /// Returns a value in the notation of JSON, in which scalars without quotes keep their text.
    private static func text(_ value: YAMLValue) -> String {
        switch value.content {
        case .null: "null"
        case .scalar(let text, isQuoted: false): text
        case .scalar(let text, isQuoted: true): "\"\(text)\""
        case .list(let elements): "[" + elements.map(text).joined(separator: ",") + "]"
        case .mapping(let members): "{" + members.map { "\($0.name):\(text($0.value))" }.joined(separator: ",") + "}"
        }
    }

    @Test(
        "scalars keep their text, and names keep their order",
        arguments: [
            ("b: 1\na: 0x1F", "{b:1,a:0x1F}"), ("a: [yes, 'no', \"x\\ty\", ]", "{a:[yes,\"no\",\"x\ty\"]}"),
            ("a:\n- 1e3\n-\n- ~\n- null", "{a:[1e3,null,null,null]}"), ("{a: {b: c, }, 'd e': f}", "{a:{b:c},d e:f}"),
            ("a: |\n  one\n  two\n", "{a:\"one\ntwo\n\"}"), ("a: 10:20:30 # x", "{a:10:20:30}"),
            ("---\na: ''\n...\n", "{a:\"\"}"), ("<<: 5", "{<<:5}"), ("5", "5"), ("a: 2001-01-01", "{a:2001-01-01}"),
            ("a: !!str 5", "{a:5}"), ("", "{}"), ("# nothing", "{}"), ("~", "{}"), ("\u{FEFF}a: ü😀", "{a:ü😀}"),
        ])
    func values(_ text: String, _ expected: String) throws {
        #expect(Self.text(try YAMLValue.read(text)) == expected)
    }

    @Test("every value and name has its line")
    func lines() throws {
        let members = try YAMLValue.read("# remark\r\na: 1\r\nb:\r\n\r\n  - x\r\n  - {c: \r\n d}\r\n").members("it")
        #expect(members.map(\.line) == [2, 3] && members[0].value.line == 2)
        let elements = try members[1].elements()
        #expect(elements.map(\.line) == [5, 6])
        let inner = try elements[1].members("it")
        #expect(inner[0].line == 6 && inner[0].value.line == 7)
    }

    @Test(
        "a mistake is an error with its line",
        arguments: [
            ("a: b: c", 1, "mapping values are not allowed"), ("a: 1\nb: [", 3, "did not find"),
            ("a:\n\t- b", 2, "cannot start any token"), ("a:\n  b: 1\n\tc: 2", 3, "tab"),
            ("a: 1\nb: 2\na: 3", 1, "“a” is given twice"), ("a: &x 1\nb: *x", 1, "anchors"),
            ("a:\n  b: &x [1]", 2, "anchors"), ("a: 1\nb: &x {c: 1}", 2, "anchors"), ("&x a: 1", 1, "anchors"),
            ("a: *x", 1, "undefined"),
            ("a: 1\n? [b]\n: 2", 2, "a name must be a text"), ("a: 1\n---\nb: 2", 2, "another document"),
            ("a: 'b", 1, "end of stream"), ("a: \"\\q\"", 1, "escape"), ("a: @b", 1, "cannot start any token"),
            ("a: %b", 1, "cannot start any token"), ("a: 1\nb: \u{1}", 2, "control characters"),
            ("a: " + String(repeating: "[", count: 17) + String(repeating: "]", count: 17), 1, "too deeply"),
        ])
    func mistakes(_ text: String, _ line: Int, _ reason: String) {
        let error = #expect(throws: YAMLError.self) { try YAMLValue.read(text) }
        #expect(error?.line == line)
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    @Test("a value of another kind than the expected one is an error that names it")
    func kinds() throws {
        let members = try YAMLValue.read("a: 1\nb: [x]\nc: {d: true}\ne:\nf: 'true'\ng: ''").members("it")
        #expect(try members[0].text() == "1" && members[4].text() == "true")
        #expect(try members[2].value.members("it")[0].boolean())
        #expect(try members[3].elements() == [] && members[1].elements().count == 1)
        for index in [1, 2, 3, 5] { #expect(throws: YAMLError.self) { try members[index].text() } }
        for index in [0, 1, 2, 3, 4, 5] { #expect(throws: YAMLError.self) { try members[index].boolean() } }
        for index in [0, 2, 4, 5] { #expect(throws: YAMLError.self) { try members[index].elements() } }
        let error = #expect(throws: YAMLError.self) { try members[1].value.members("“b”") }
        #expect(error == YAMLError(line: 2, reason: "“b” must be a mapping, with lines “name: value”"))
        #expect(members[0].unknown(["x", "y"]) == YAMLError(line: 1, reason: "“a” is unknown: use one of x, y"))
    }

    @Test("truncated texts end in a value or an error with a line")
    func truncated() throws {
        let text =
            "serve: {listen: \"[::1]:1\", limit: [a=1, 'b=2']}\npublish:\n  tag:\n    - |\n      x\n    - >-\n      y\n"
        for count in 0...text.unicodeScalars.count {
            do throws(YAMLError) {
                _ = try YAMLValue.read(String(text.unicodeScalars.prefix(count)))
            } catch {
                #expect(error.line.map { (1...8).contains($0) } == true, "\(count): \(error)")
            }
        }
    }
}
