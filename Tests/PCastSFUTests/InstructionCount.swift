import Foundation

/// What callgrind has counted: instructions of each file of code that was run, without those that it called.
struct InstructionCount {
    private var instructions: [String: Int] = [:]

    var total: Int { instructions.values.reduce(0, +) }

    /// Of the files whose names contain a word.
    func of(_ word: String) -> Int { instructions.filter { $0.key.contains(word) }.values.reduce(0, +) }

    /// Reads callgrind's own format: `ob=` names the file of what follows, each line of costs ends with its count, and the
    /// one behind a `calls=` is the cost of what was called.
    init(_ profile: String) {
        var names: [Substring: String] = [:]
        var current = ""
        var isCall = false
        for line in profile.split(separator: "\n") {
            if line.hasPrefix("ob=") || line.hasPrefix("cob=") {
                let entry = line.drop { $0 != "(" }.dropFirst()
                let number = entry.prefix { $0 != ")" }
                let name = entry.dropFirst(number.count + 1).trimmingCharacters(in: .whitespaces)
                if !name.isEmpty { names[number] = name }
                if line.hasPrefix("ob=") { current = names[number] ?? "" }
            } else if line.hasPrefix("calls=") {
                isCall = true
            } else if let first = line.first, first.isNumber || first == "+" || first == "-" || first == "*" {
                if !isCall, let cost = line.split(separator: " ").last.flatMap({ Int($0) }) {
                    instructions[current, default: 0] += cost
                }
                isCall = false
            }
        }
    }
}
