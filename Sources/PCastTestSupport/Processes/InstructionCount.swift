/// The counts of callgrind: the instructions of each object file, without those of functions that it called.
package struct InstructionCount: Sendable {
    private var instructions: [String: Int] = [:]

    /// The number of all instructions.
    package var total: Int { instructions.values.reduce(0, +) }

    /// Returns the count of the files whose names contain a word.
    package func of(_ word: String) -> Int { instructions.filter { $0.key.contains(word) }.values.reduce(0, +) }

    /// Reads callgrind's output format. `ob=` names the object file of the lines that follow. Each cost line ends with
    /// a count, and the line after `calls=` is the cost of the called function.
    package init(_ profile: String) {
        var names: [Substring: String] = [:]
        var current = ""
        var isCall = false
        for line in profile.split(separator: "\n") {
            if line.hasPrefix("ob=") || line.hasPrefix("cob=") {
                let entry = line.drop { $0 != "(" }.dropFirst()
                let number = entry.prefix { $0 != ")" }
                let name = String(entry.dropFirst(number.count + 1).drop { $0 == " " })
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
