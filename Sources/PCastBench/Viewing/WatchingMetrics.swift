import PCast
import PCastCore
import PCastJSON

/// The statistics of one viewer for its whole session; times are in milliseconds.
struct WatchingMetrics: Sendable {
    let latencyP50: Double?
    let latencyP99: Double?
    /// The time from the first frame to the live edge, and the percentiles of the latency after that.
    let timeToLiveEdge: Double?
    let steadyLatencyP50: Double?
    let steadyLatencyP99: Double?
    let audioVideoSkew: Double?
    let framesRendered: Double
    let framesDropped: Double
    let freezeCount: Double

    init(_ statistics: ViewerStatistics) {
        latencyP50 = statistics.latencyP50?.milliseconds
        latencyP99 = statistics.latencyP99?.milliseconds
        timeToLiveEdge = statistics.timeToLiveEdge?.milliseconds
        steadyLatencyP50 = statistics.steadyLatencyP50?.milliseconds
        steadyLatencyP99 = statistics.steadyLatencyP99?.milliseconds
        audioVideoSkew = statistics.audioVideoSkew?.milliseconds
        framesRendered = Double(statistics.framesRendered)
        framesDropped = Double(statistics.framesDropped)
        freezeCount = Double(statistics.freezeCount)
    }

    /// Creates the statistics from the `summary` event of `pcast subscribe`.
    init(_ summary: JSONObject) {
        func number(_ name: String) -> Double? { summary[name]?.number }
        latencyP50 = number("latencyP50")
        latencyP99 = number("latencyP99")
        timeToLiveEdge = number("timeToLiveEdge")
        steadyLatencyP50 = number("steadyLatencyP50")
        steadyLatencyP99 = number("steadyLatencyP99")
        audioVideoSkew = number("audioVideoSkew")
        framesRendered = number("framesRendered") ?? 0
        framesDropped = number("framesDropped") ?? 0
        freezeCount = number("freezeCount") ?? 0
    }
}
