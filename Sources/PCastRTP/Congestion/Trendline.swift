import PCastMedia

/// How fast the delay of a path grows: the slope of a line through the smoothed delays of the last groups.
///
/// After libwebrtc's `TrendlineEstimator`: 20 groups, smoothing 0.9.
struct Trendline: Sendable {
    static let window = 20
    static let smoothing = 0.9
    private static let maximumCount = 1000

    /// Arrival and smoothed delay, in milliseconds since the first group, oldest overwritten.
    private var times = InlineArray<20, Double>(repeating: 0)
    private var delays = InlineArray<20, Double>(repeating: 0)
    private var next = 0
    private var filled = 0

    private var firstArrival: TimeSpan?
    private var accumulated = 0.0
    private var smoothed = 0.0

    /// Groups seen, up to a thousand.
    private(set) var count = 0
    /// Milliseconds of delay a millisecond; zero before the window is full.
    private(set) var slope = 0.0

    mutating func add(_ delta: ArrivalGroups.Delta, arrival: TimeSpan) {
        let start = firstArrival ?? arrival
        firstArrival = start
        count = min(count + 1, Self.maximumCount)
        accumulated += delta.arrival.milliseconds - delta.send.milliseconds
        smoothed = Self.smoothing * smoothed + (1 - Self.smoothing) * accumulated
        times[next] = (arrival - start).milliseconds
        delays[next] = smoothed
        next = next + 1 == Self.window ? 0 : next + 1
        filled = min(filled + 1, Self.window)
        if filled == Self.window, let fit = fit() { slope = fit }
    }

    /// Least squares; nil when all groups arrived at once. It changes nothing; but nothing is asked of a copy.
    private mutating func fit() -> Double? {
        var meanTime = 0.0
        var meanDelay = 0.0
        for index in 0..<Self.window {
            meanTime += times[index]
            meanDelay += delays[index]
        }
        meanTime /= Double(Self.window)
        meanDelay /= Double(Self.window)
        var numerator = 0.0
        var denominator = 0.0
        for index in 0..<Self.window {
            let time = times[index] - meanTime
            numerator += time * (delays[index] - meanDelay)
            denominator += time * time
        }
        return denominator == 0 ? nil : numerator / denominator
    }
}
