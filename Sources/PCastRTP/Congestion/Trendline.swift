import PCastCore

/// The trend of a path's delay: the slope of a line through the smoothed delays of the last groups.
///
/// It follows libwebrtc's `TrendlineEstimator` with 20 groups and a smoothing factor of 0.9.
struct Trendline: Sendable {
    /// The number of groups in the line.
    static let window = 20
    /// The weight of the previous value in the smoothed delay.
    static let smoothing = 0.9
    /// The maximum of the group count.
    private static let maximumCount = 1000

    /// The arrival times of the groups in milliseconds since the first one, as a ring.
    private var times = InlineArray<20, Double>(repeating: 0)
    /// The smoothed delays of the groups in milliseconds, as a ring.
    private var delays = InlineArray<20, Double>(repeating: 0)
    private var next = 0
    private var filled = 0

    private var firstArrival: TimeSpan?
    private var accumulated = 0.0
    private var smoothed = 0.0

    /// The number of groups so far, up to 1000.
    private(set) var count = 0
    /// The slope in milliseconds of delay per millisecond; 0 before the window is full.
    private(set) var slope = 0.0

    /// Adds a group.
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

    /// Returns the slope by least squares; nil if all groups arrived at the same time. It is `mutating` to avoid a
    /// copy.
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
