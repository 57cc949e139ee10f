import PCastCore
import PCastIO

extension Broadcast {
    private static let step = TimeSpan.seconds(Int64(10))
    /// The largest change of the frame rate per step, and its range, as factors.
    private static let change = 0.9...1.1
    private static let range = 0.3...3.0

    /// Keeps the platform at a fraction of its CPU by changing the publishers' frame rate, until the task is cancelled.
    /// On a shared machine, the same work takes a different fraction at different times.
    func keepLoad(at share: Double) async throws {
        let typical = 1 / Double(profile.rate)
        var factor = 1.0
        while true {
            let (start, before) = (MonotonicClock.now(), setup.processorTime)
            try await Task.sleep(for: .seconds(Self.step.seconds))
            let cpuTime = (setup.processorTime - before).seconds / (MonotonicClock.now() - start).seconds
            factor = Self.range.clamping(factor * Self.change.clamping(share / max(cpuTime, 0.01)))
            await publishers.setInterval(TimeSpan(seconds: typical / factor))
        }
    }
}

extension ClosedRange<Double> {
    fileprivate func clamping(_ value: Double) -> Double { Swift.min(Swift.max(value, lowerBound), upperBound) }
}
