/// Suggestions for misspelled names.
enum NearestName {
    /// Returns a suggestion such as `; perhaps “listen” is meant`; empty text if no name is similar.
    static func suggestion(
        _ name: String, among names: some Sequence<String>, written: (String) -> String = { "“\($0)”" }
    ) -> String {
        find(name, among: names).map { " (did you mean \(written($0))?)" } ?? ""
    }

    /// Returns the name with the smallest distance; nil if the distance exceeds a third of the letters.
    static func find(_ name: String, among names: some Sequence<String>) -> String? {
        let ranked = names.sorted().map { (name: $0, distance: distance(name, $0)) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= max(1, max(name.count, best.name.count) / 3) ? best.name : nil
    }

    /// Returns the number of letters that must be changed, inserted, deleted, or swapped with the next one (optimal
    /// string alignment, a variant of the Damerau-Levenshtein distance).
    static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left), Array(right))
        var rows = [Array(0...right.count)]
        for i in left.indices {
            var row = [i + 1]
            for j in right.indices {
                let change = rows[i][j] + (left[i] == right[j] ? 0 : 1)
                var best = min(change, rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
