import PCastCore
import PCastIO
import PCastNetworkEmulation

/// A row with simulcast from a browser and a viewer whose link becomes narrow.
extension NetworkRow {
    /// The height of the highest layer in pixels.
    private static let height = 720.0

    /// For one of two viewers, the capacity falls from 4 Mbit/s to 0.5 Mbit/s for 15 s and rises to 4 Mbit/s again.
    static let simulcast = NetworkRow(
        name: "chromium-simulcast",
        targets: [
            Target("lowerLayer", .atMost(5)), Target("largeAgain", .atMost(15)), Target("othersChanges", .exactly(0)),
            Target("othersFramesPerSecond", .atLeast(20)), Target("framesPerSecond", .atLeast(15)),
        ]
    ) { _ in
        var options = NetworkTestbed.Options()
        options.conditions = LinkConditions(
            delay: .milliseconds(20), rate: .kilobits(4_000), queue: .span(.milliseconds(300)))
        options.others = [LinkConditions(delay: .milliseconds(20))]
        let testbed = try await NetworkTestbed(options)
        defer { testbed.stop() }
        let browser = try ChromiumPeer(
            "publish_chromium.py",
            [
                "\(NetworkTestbed.uri)/publish?layers=3", "--token", try testbed.publishingToken(), "--codec", "VP8",
                "--seconds", "80",
            ], origin: NetworkTestbed.uri, in: testbed.publishersNamespace)
        defer { browser.stop() }
        let stream = StreamID(try await Task.detached { try browser.streamID() }.value)
        let viewer = try testbed.view(stream, from: 0)
        defer { viewer.stop() }
        let other = try testbed.view(stream, from: 1)
        defer { other.stop() }
        // A browser's bandwidth estimate needs some seconds to permit the highest layer, longer on a loaded machine.
        for each in [viewer, other] {
            _ = try await each.first("dimensions", within: .seconds(25)) { $0.number("height") == height }
        }
        try await Task.sleep(for: .seconds(3))
        testbed.network.change(0) { $0.down.conditions.rate = .kilobits(500) }
        let fall = MonotonicClock.now()
        let lower = try? await viewer.first("dimensions", since: fall, within: .seconds(15)) { event in
            event.number("height").map { $0 < height } ?? false
        }
        try await Task.sleep(for: .seconds(12))
        let rise = MonotonicClock.now()
        let narrow = try? ViewerMeasurement(viewer, from: fall + .seconds(3), until: rise)
        testbed.network.change(0) { $0.down.conditions.rate = .kilobits(4_000) }
        let large = try? await viewer.first("dimensions", since: rise, within: .seconds(25)) { event in
            event.number("height") == height
        }
        let end = MonotonicClock.now()
        let others = try? ViewerMeasurement(other, from: fall, until: end)
        return [
            ("lowerLayer", lower.map { ($0.instant - fall).seconds }), ("lowerHeight", lower?.number("height")),
            ("framesPerSecond", narrow?.framesPerSecond), ("largeAgain", large.map { ($0.instant - rise).seconds }),
            ("othersChanges", Double(other.events("dimensions", since: fall, until: end).count)),
            ("othersFramesPerSecond", others?.framesPerSecond), ("othersFreezeCount", others?.freezeCount),
        ]
    }
}
