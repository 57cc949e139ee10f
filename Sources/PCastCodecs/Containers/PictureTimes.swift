import PCastMedia

/// Gives pictures times that always grow: their own, or those that follow from the rate.
struct PictureTimes {
    private var last: Int64?

    /// - Parameters:
    ///   - told: microseconds since the beginning; nil when the picture does not say.
    ///   - frameRate: nil when unknown.
    mutating func place(_ told: Int64?, frameRate: Double?) -> MediaTime {
        let following = last.map { $0 + Int64(90_000 / max(1, frameRate ?? 25)) } ?? 0
        var ticks = told.map { ClockRate.video.ticks(in: .microseconds($0)) } ?? following
        if let last { ticks = max(ticks, last + 1) }
        last = ticks
        return MediaTime(ticks: ticks, rate: .video)
    }
}
