/// Percentiles by nearest rank.
enum Percentile {
    /// - Parameter share: 0.5 is the median.
    /// - Returns: nil of nothing.
    static func of(_ values: [Double], _ share: Double) -> Double? {
        guard !values.isEmpty else { return nil }
        let rank = Int((share * Double(values.count)).rounded(.up))
        return values.sorted()[min(max(rank, 1), values.count) - 1]
    }
}
