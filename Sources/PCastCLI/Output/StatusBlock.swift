/// A few lines that are drawn anew in place while something runs.
struct StatusBlock: Sendable, Equatable {
    struct Row: Sendable, Equatable {
        let label: String
        let value: String

        init(_ label: String, _ value: String) {
            self.label = label
            self.value = value
        }
    }

    var title: String
    var rows: [Row]

    /// No line is wider than `width`, as a broken line would stand in the way of drawing in place. A link is kept
    /// whole by the line that is printed above the block.
    func lines(width: Int) -> [String] {
        let labelWidth = (rows.map(\.label.count).max() ?? 0) + 2
        let table = rows.map { row in
            "  " + row.label + String(repeating: " ", count: labelWidth - row.label.count) + row.value
        }
        return ([title] + table).map { $0.count <= width ? $0 : String($0.prefix(max(0, width - 1))) + "…" }
    }
}
