import PCastCore

/// A row of `pcast-bench networks`.
struct NetworkRow: Sendable {
    typealias Figures = [(key: String, value: Double?)]

    let name: String
    let targets: [Target]
    /// Measures for the given number of seconds and returns the results.
    let measure: @Sendable (_ seconds: Int) async throws -> Figures

    /// Whether all targets are met; a target without a measured value is missed.
    func passes(_ figures: Figures) -> Bool {
        targets.allSatisfy { target in target.holds(for: figures.first { $0.key == target.figure }?.value) }
    }
}
