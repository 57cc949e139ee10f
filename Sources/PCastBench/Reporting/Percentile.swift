/// Percentiles by the nearest-rank method.
enum Percentile {
    /// Returns the percentile for a share from 0 to 1, such as 0.5 for the median; nil without values.
    static func of(_ values: [Double], _ share: Double) -> Double? {
        guard !values.isEmpty else { return nil }
        let rank = Int((share * Double(values.count)).rounded(.up))
        return values.sorted()[min(max(rank, 1), values.count) - 1]
    }
}
