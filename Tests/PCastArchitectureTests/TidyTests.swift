import Foundation
import Testing

@Suite("Rules of the source tree")
struct TidyTests {
    @Test("type names describe the thing, without words like helper")
    func names() {
        for (path, text) in Sources.files(below: "Sources") where !path.hasSuffix(".pb.swift") {
            let code = Sources.code(of: text)
            let found = code.range(
                of: #"\b(class|struct|enum|protocol|actor)\s+\w*(Manager|Helper|Util|Utils|Common|Base|Impl)\b"#,
                options: .regularExpression)
            #expect(found == nil, "\(path): \(found.map { String(code[$0]) } ?? "")")
        }
    }

    @Test("no file of the sources is longer than 600 lines")
    func length() {
        for (path, text) in Sources.files(below: "Sources") where !path.hasSuffix(".pb.swift") {
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).count
            #expect(lines <= 600, "\(path) has \(lines) lines")
        }
    }

    @Test("no text marks work to do later")
    func unfinished() {
        let words = ["TO" + "DO", "FIX" + "ME", "X" + "XX", "not " + "implemented"]
        for (path, text) in Sources.files(below: "Sources") + Sources.files(below: "Tests") {
            for word in words {
                // Only whole words count, because a frame's name in ID3 ends with one of the words.
                let found = text.range(of: "\\b\(word)\\b", options: .regularExpression)
                #expect(found == nil, "\(path) says \(word)")
            }
        }
    }

    @Test("programs write to standard output by StandardOutput only, because it survives a closed pipe")
    func output() {
        for (path, text) in Sources.files(below: "Sources") where !path.hasSuffix("/StandardOutput.swift") {
            let code = Sources.code(of: text)
            let found = code.range(
                of: #"FileHandle\.standard(Output|Error)|(?<![.\w])(?<!func )print\("#, options: .regularExpression)
            #expect(found == nil, "\(path) writes to standard output directly")
        }
    }

    @Test("tests wait for conditions, not for time")
    func sleeps() {
        for (path, text) in Sources.files(below: "Tests") where !path.contains("Architecture") {
            let code = Sources.code(of: text)
            let found = code.range(of: #"(Thread\.sleep|Task\.sleep|(?<![.\w])u?sleep)\("#, options: .regularExpression)
            #expect(found == nil, "\(path) sleeps")
        }
    }
}
