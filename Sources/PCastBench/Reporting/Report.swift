import ArgumentParser
import Foundation
import PCastCore
import PCastIO
import PCastJSON

/// The output of a measurement: rows during the measurement and a final result, as a table or as JSON objects, one per
/// line.
struct Report {
    typealias Metrics = KeyValuePairs<String, Double?>

    private let isJSON: Bool
    private var columns: [String] = []

    init(_ options: ReportOptions) { isJSON = options.json }

    /// Writes a row. Rows with other columns than before get a new heading. `pass` is nil for a row without targets.
    mutating func row(_ name: String, _ metrics: Metrics, pass: Bool? = nil) {
        row(name, Array(metrics), pass: pass)
    }

    mutating func row(_ name: String, _ metrics: [(key: String, value: Double?)], pass: Bool? = nil) {
        if isJSON {
            var object = Self.event("row")
            object["name"] = .string(name)
            for (name, value) in metrics { object[name] = Self.value(value) }
            object["pass"] = pass.map(JSONValue.boolean) ?? .null
            return Self.print(object.text)
        }
        let names = metrics.map(\.key)
        if names != columns {
            columns = names
            Self.print(Self.line("", names.map { ($0, $0) }, ""))
        }
        let mark = pass.map { $0 ? "ok" : "MISSED" } ?? ""
        Self.print(Self.line(name, metrics.map { ($0.key, Self.text($0.value)) }, mark))
    }

    /// Writes the result. Throws `ExitCode` 1 if a target is missed.
    func finish(_ metrics: Metrics, targets: [Target]) throws { try finish(Array(metrics), targets: targets) }

    func finish(_ metrics: [(key: String, value: Double?)], targets: [Target]) throws {
        let missed = targets.filter { target in
            !target.holds(for: metrics.first { $0.key == target.metric }?.value)
        }
        if isJSON {
            var limits = JSONObject()
            for target in targets { limits[target.metric] = .number(target.limit) }
            var object = Self.event("result")
            for (name, value) in metrics { object[name] = Self.value(value) }
            object["targets"] = .object(limits)
            object["pass"] = .boolean(missed.isEmpty)
            Self.print(object.text)
        } else {
            printTable(metrics, targets, missed)
        }
        if !missed.isEmpty {
            let lines = missed.map { target in
                let value = metrics.first { $0.key == target.metric }?.value
                return "missed: \(target.metric) is \(Self.text(value)), target \(target.text)\n"
            }
            StandardOutput.writeError(lines.joined())
            throw ExitCode(1)
        }
    }

    private func printTable(_ metrics: [(key: String, value: Double?)], _ targets: [Target], _ missed: [Target]) {
        Self.print("")
        for (name, value) in metrics {
            let target = targets.first { $0.metric == name }
            let mark = target.map { target in missed.contains { $0.metric == target.metric } ? "MISSED" : "ok" } ?? ""
            Self.print(
                [
                    Self.padded(name, 32), Self.leading(Self.text(value), 12), "  ",
                    Self.padded(target?.text ?? "", 20), mark,
                ].joined())
        }
    }

    // MARK: Writing

    /// Writes an event that is neither a row nor the result.
    func event(_ name: String, _ fields: KeyValuePairs<String, JSONValue>, sentence: String) {
        guard isJSON else { return Self.print(sentence) }
        var object = Self.event(name)
        for (name, value) in fields { object[name] = value }
        Self.print(object.text)
    }

    private static func event(_ name: String) -> JSONObject {
        var object = JSONObject()
        object["event"] = .string(name)
        object["time"] = .string(Timestamp.text(MonotonicClock.wallTime()))
        return object
    }

    private static func value(_ value: Double?) -> JSONValue {
        guard let value, value.isFinite else { return .null }
        return .number((value * 10_000).rounded() / 10_000)
    }

    static func text(_ value: Double?) -> String {
        guard let value, value.isFinite else { return "-" }
        if value == value.rounded(), abs(value) < 1e15 { return String(Int64(value)) }
        return abs(value) < 1 ? String(format: "%.4f", value) : String(format: "%.1f", value)
    }

    private static func line(_ name: String, _ cells: [(title: String, text: String)], _ mark: String) -> String {
        padded(name, 32) + cells.map { leading($0.text, max($0.title.count, 8)) }.joined(separator: "  ")
            + (mark.isEmpty ? "" : "  \(mark)")
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    private static func leading(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    private static func print(_ line: String) {
        StandardOutput.write(line + "\n")
    }
}

/// The output format of a measurement.
struct ReportOptions: ParsableArguments {
    @Flag(help: "Print one JSON object per line to standard output.")
    var json = false
}

/// Percentiles by the nearest-rank method.
enum Percentile {
    /// Returns the percentile for a share from 0 to 1, such as 0.5 for the median; nil without values.
    static func of(_ values: [Double], _ share: Double) -> Double? {
        guard !values.isEmpty else { return nil }
        let rank = Int((share * Double(values.count)).rounded(.up))
        return values.sorted()[min(max(rank, 1), values.count) - 1]
    }
}
