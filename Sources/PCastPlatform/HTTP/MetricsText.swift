import PCastCore
import PCastSFU

/// Metrics in Prometheus' text format (version 0.0.4). Their names end in base units, according to its conventions.
struct MetricsText {
    private(set) var text = ""

    enum Kind: String { case gauge, counter, histogram }

    /// A value with the labels that distinguish it from other values of the metric.
    typealias Sample = (labels: [(name: String, value: String)], value: String)

    /// Adds a metric with one value.
    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: some Numeric & CustomStringConvertible) {
        add(name, kind, help, [([], value.description)])
    }

    /// Adds a metric with several values. A metric without values is left out.
    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ samples: [Sample]) {
        guard !samples.isEmpty else { return }
        begin(name, kind, help)
        for sample in samples { text += "\(name)\(Self.text(sample.labels)) \(sample.value)\n" }
    }

    /// Adds a histogram of durations in seconds for each label.
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

    /// Returns the value of a label with special characters escaped, because names of applications may contain any.
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
