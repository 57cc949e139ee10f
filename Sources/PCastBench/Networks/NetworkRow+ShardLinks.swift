import PCastCore
import PCastIO
import PCastNetworkEmulation

/// A row in which one of a hundred viewers has a bad network, which must not affect the others.
extension NetworkRow {
    /// The number of light viewers beside the impaired viewer and two that decode.
    private static let lightViewers = 97

    /// Two viewers decode; the light viewers check the sequence, the timestamps and the latency of each packet.
    static let lossyPeer = NetworkRow(
        name: "one-bad-viewer",
        targets: [
            Target("freezeCount", .exactly(0)), Target("framesPerSecond", .atLeast(29)),
            Target("packetsLost", .exactly(0)), Target("nackCount", .exactly(0)), Target("latencyP50", .atMost(70)),
            Target("lightViewers", .exactly(Double(lightViewers))), Target("lightMissing", .exactly(0)),
            Target("lightReordered", .exactly(0)), Target("lightRequested", .exactly(0)),
            Target("lightBackwards", .exactly(0)),
            Target("lightVideoStep", .atMost(100)), Target("lightAudioStep", .atMost(20)),
            Target("lightLagP99", .atMost(70)), Target("badNackCount", .atLeast(1)),
        ]
    ) { seconds in
        var options = NetworkTestbed.Options()
        options.conditions = LinkConditions(
            delay: .milliseconds(150), jitter: .milliseconds(50), loss: .random(0.2), rate: .kilobits(300))
        options.others = [LinkConditions(delay: .milliseconds(10))]
        let testbed = try await NetworkTestbed(options)
        defer { testbed.stop() }
        let (publisher, stream) = try await testbed.publish()
        defer { publisher.stop() }
        let good = try [1, 1].map { try testbed.view(stream, from: $0) }
        defer { good.forEach { $0.stop() } }
        for viewer in good { _ = try await viewer.first("firstFrame") }
        let light = try testbed.viewLightly(stream, count: lightViewers)
        defer { light.stop() }
        let bad = try testbed.view(stream, from: 0)
        defer { bad.stop() }
        _ = try await light.first("watching", within: .seconds(60))
        let start = MonotonicClock.now()
        try await Task.sleep(for: .seconds(seconds))
        let end = MonotonicClock.now()
        light.interrupt()
        let seen = try await light.first("row")
        let watching = try good.map { try ViewerMeasurement($0, from: start, until: end) }
        let suffering = try? ViewerMeasurement(bad, from: start, until: end)
        func worst(_ figure: (ViewerMeasurement) -> Double?) -> Double? {
            let values = watching.compactMap(figure)
            return values.count == watching.count ? values.max() : nil
        }
        let lightFigures = LightViewingMetrics.names.map { (key: $0, value: seen.number($0)) }
        return [
            ("framesPerSecond", watching.compactMap(\.framesPerSecond).min()), ("freezeCount", worst(\.freezeCount)),
            ("packetsLost", worst { $0.growth("packetsLost") }), ("nackCount", worst { $0.growth("nackCount") }),
            ("pliCount", worst { $0.growth("pliCount") }), ("latencyP50", worst(\.latencyP50)),
            ("badFramesPerSecond", suffering?.framesPerSecond), ("badNackCount", suffering?.growth("nackCount")),
        ] + lightFigures
    }
}
