extension MetricsText {
    /// Adds a counter for each limit from the start, so that the first rejection is visible as an increase.
    mutating func add(_ counts: RequestLimiter.Counts) {
        add(
            "pcast_requests_rejected_total", .counter,
            "Requests that were rejected because a limit was reached, by limit.",
            PlatformLimits.Name.allCases.map { ([("limit", $0.rawValue)], "\(counts.count($0))") })
    }
}
