/// Lines of status that are redrawn in place while a command runs.
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

    /// Returns the lines. Each is truncated to `width`, because a wrapped line would break redrawing. The complete link
    /// is printed above the block.
    func lines(width: Int) -> [String] {
        let labelWidth = (rows.map(\.label.count).max() ?? 0) + 2
        let table = rows.map { row in
            "  " + row.label + String(repeating: " ", count: labelWidth - row.label.count) + row.value
        }
        return ([title] + table).map { $0.count <= width ? $0 : String($0.prefix(max(0, width - 1))) + "…" }
    }
}
