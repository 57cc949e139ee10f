import PCastCore
import PCastIO
import PCastNetworkEmulation

/// A row in which viewers of one stream must show the same frame at the same time.
extension NetworkRow {
    /// Round-trip times of 10, 40, 80 and 120 ms, and a playout delay of 300 ms after capture.
    static let synchronized = NetworkRow(
        name: "synchronized", targets: [Target("spread", .atMost(50)), Target("viewers", .exactly(4))]
    ) { seconds in
        let delays: [Int64] = [5, 20, 40, 60]
        var options = NetworkTestbed.Options()
        options.capabilities = ["playout-buffer=PT0.3S"]
        options.conditions = LinkConditions(delay: .milliseconds(delays[0]))
        options.others = delays.dropFirst().map { LinkConditions(delay: .milliseconds($0)) }
        let testbed = try await NetworkTestbed(options)
        defer { testbed.stop() }
        let (publisher, stream) = try await testbed.publish()
        defer { publisher.stop() }
        let viewers = try delays.indices.map { try testbed.view(stream, from: $0) }
        defer { viewers.forEach { $0.stop() } }
        for viewer in viewers { _ = try await viewer.first("firstFrame") }
        try await Task.sleep(for: .seconds(10))
        let start = MonotonicClock.now()
        try await Task.sleep(for: .seconds(seconds))
        let watching = try viewers.map { try ViewerMeasurement($0, from: start, until: MonotonicClock.now()) }
        // All processes use this machine's clock, so that the latencies of the same second are comparable.
        let lags = watching.map { $0.values("latencyP50") }
        let spreads = (0..<(lags.map(\.count).min() ?? 0)).map { second in
            let lags = lags.map { $0[second] }
            return (lags.max() ?? 0) - (lags.min() ?? 0)
        }
        return [
            ("spread", spreads.max()), ("viewers", Double(lags.count { !$0.isEmpty })),
            ("lag", Percentile.of(lags.joined().map { $0 }, 0.5)),
            ("skew", Percentile.of(watching.flatMap { $0.values("audioVideoSkew") }.map(abs), 0.5)),
            ("freezeCount", watching.compactMap(\.freezeCount).reduce(0, +)),
        ]
    }
}
