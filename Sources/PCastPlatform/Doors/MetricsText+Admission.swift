extension MetricsText {
    /// Every limit has its count from the beginning, so that the first refusal is seen as a rise.
    mutating func add(_ counts: Admission.Counts) {
        add(
            "pcast_refusals_total", .counter, "What was refused because a limit was reached, by that limit.",
            PlatformLimits.Name.allCases.map { ([("limit", $0.rawValue)], "\(counts.count($0))") })
    }
}
