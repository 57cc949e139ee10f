import PCastMedia

/// A row of `pcast-bench networks`.
struct NetworkRow: Sendable {
    typealias Figures = [(key: String, value: Double?)]

    let name: String
    let targets: [Target]
    /// - Parameter seconds: how long it watches.
    let measure: @Sendable (_ seconds: Int) async throws -> Figures

    /// A target whose figure was not measured is missed.
    func passes(_ figures: Figures) -> Bool {
        targets.allSatisfy { target in target.holds(for: figures.first { $0.key == target.figure }?.value) }
    }
}
