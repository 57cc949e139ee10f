/// A bound for a measured value.
struct Target: Sendable {
    enum Bound: Sendable {
        case atMost(Double)
        case atLeast(Double)
        /// A bound of the absolute value.
        case within(Double)
        case exactly(Double)
    }

    let metric: String
    let bound: Bound

    init(_ metric: String, _ bound: Bound) {
        self.metric = metric
        self.bound = bound
    }

    /// Whether a value is within the bound; false for nil, a value that could not be measured.
    func holds(for value: Double?) -> Bool {
        guard let value else { return false }
        return switch bound {
        case .atMost(let limit): value <= limit
        case .atLeast(let limit): value >= limit
        case .within(let limit): abs(value) <= limit
        case .exactly(let limit): value == limit
        }
    }

    var limit: Double {
        switch bound {
        case .atMost(let limit), .atLeast(let limit), .within(let limit), .exactly(let limit): limit
        }
    }

    var text: String {
        switch bound {
        case .atMost(let limit): "at most \(Report.text(limit))"
        case .atLeast(let limit): "at least \(Report.text(limit))"
        case .within(let limit): "within ±\(Report.text(limit))"
        case .exactly(let limit): "exactly \(Report.text(limit))"
        }
    }
}
