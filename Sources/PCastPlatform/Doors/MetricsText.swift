import PCastMedia
import PCastRelay

/// What the platform counts, in Prometheus' text format (version 0.0.4), by its conventions: base units, and their names at
/// the end of the figure's.
struct MetricsText {
    private(set) var text = ""

    enum Kind: String { case gauge, counter, histogram }

    /// A value, and the labels that tell it from the figure's others.
    typealias Sample = (labels: [(name: String, value: String)], value: String)

    /// One figure of the whole platform.
    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: some Numeric & CustomStringConvertible) {
        add(name, kind, help, [([], value.description)])
    }

    /// A figure with several values; left out where there are none.
    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ samples: [Sample]) {
        guard !samples.isEmpty else { return }
        begin(name, kind, help)
        for sample in samples { text += "\(name)\(Self.text(sample.labels)) \(sample.value)\n" }
    }

    /// Durations, in seconds, of each label's value.
    mutating func add(
        _ name: String, _ help: String, _ histograms: [(label: (name: String, value: String)?, Histogram)]
    ) {
        begin(name, .histogram, help)
        for (label, histogram) in histograms {
            let labels = label.map { [$0] } ?? []
            for (bound, count) in histogram.cumulative {
                text += "\(name)_bucket\(Self.text(labels + [("le", "\(bound.seconds)")])) \(count)\n"
            }
            text += "\(name)_bucket\(Self.text(labels + [("le", "+Inf")])) \(histogram.count)\n"
            text += "\(name)_sum\(Self.text(labels)) \(histogram.sum.seconds)\n"
            text += "\(name)_count\(Self.text(labels)) \(histogram.count)\n"
        }
    }

    private mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    }

    private static func text(_ labels: [(name: String, value: String)]) -> String {
        labels.isEmpty ? "" : "{\(labels.map { "\($0.name)=\"\(escaped($0.value))\"" }.joined(separator: ","))}"
    }

    /// Names of applications may hold anything.
    private static func escaped(_ value: String) -> String {
        var text = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
