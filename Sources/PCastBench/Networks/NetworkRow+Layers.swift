import PCastCore
import PCastIO
import PCastJSON
import PCastTestSupport

/// Rows of a browser that publishes several layers, and of viewers whose links become narrow.
extension NetworkRow {
    /// The layers of a publisher.
    private struct LayeredSource {
        let codec: String
        /// The scalability mode of layers in one SSRC; nil for three layers by `rid`.
        let mode: String?
        /// The height of the lowest layer in rows.
        let lowestHeight: Double

        var name: String { "layers-\(codec.lowercased())-\(mode ?? "rid")" }

        /// The arguments of `publish_chromium.py` after the token.
        var arguments: [String] {
            ["--codec", codec, "--size", "960x540"] + (mode.map { ["--scalability-mode", $0] } ?? [])
        }
    }

    /// The longest freeze at a change of the layer in milliseconds.
    private static let longestFreeze = 150.0
    /// The shares of the stream's bit rate that the links of the viewers carry: of a middle layer, and of the lowest one.
    private static let shares = (middle: 0.65, lowest: 0.35)
    /// The share at the beginning of the fall, and the number of its steps.
    private static let (first, fallSteps) = (1.2, 10)

    static let layers: [NetworkRow] = [
        LayeredSource(codec: "H264", mode: nil, lowestHeight: 136),
        LayeredSource(codec: "VP9", mode: "L3T3_KEY", lowestHeight: 136),
        LayeredSource(codec: "VP9", mode: "L2T2", lowestHeight: 270),
        LayeredSource(codec: "AV1", mode: "L3T3_KEY", lowestHeight: 136),
        LayeredSource(codec: "AV1", mode: "L2T2", lowestHeight: 270),
    ].map(changes)

    /// Three viewers of this project and two in Chromium receive the whole stream. Then the links of two viewers of each kind
    /// become narrow in 6 s, one more than the other, and wide again 15 s later.
    private static func changes(_ source: LayeredSource) -> NetworkRow {
        let targets = [
            Target("longestFreeze", .atMost(longestFreeze)), Target("chromiumLongestFreeze", .atMost(longestFreeze)),
            Target("middleHeight", .atMost(270)), Target("lowestHeight", .atMost(source.lowestHeight)),
            Target("lastHeight", .atLeast(540)), Target("othersChanges", .exactly(0)),
        ]
        return NetworkRow(name: source.name, targets: targets) { _ in
            var options = NetworkTestbed.Options()
            options.conditions = LinkConditions(
                delay: .milliseconds(20), rate: .kilobits(4_000), queue: .span(.milliseconds(300)))
            options.others = Array(repeating: options.conditions, count: 4)
            let testbed = try await NetworkTestbed(options)
            defer { testbed.stop() }
            let query = source.mode == nil ? "?layers=3" : ""
            let publisher = try ChromiumPeer(
                "publish_chromium.py",
                [
                    "\(NetworkTestbed.uri)/publish\(query)", "--token", try testbed.publishingToken(), "--seconds",
                    "180",
                ] + source.arguments, origin: NetworkTestbed.uri, in: testbed.publishersNamespace)
            defer { publisher.stop() }
            let stream = StreamID(try await Task.detached { try publisher.streamID() }.value)
            let own = try (0..<3).map { try testbed.view(stream, from: $0) }
            defer { own.forEach { $0.stop() } }
            for viewer in own { _ = try await viewer.first("firstFrame") }
            let browsers = try [3, 4].map { host in
                try ChromiumPeer(
                    "watch_chromium.py",
                    [
                        "\(NetworkTestbed.uri)/watch/\(stream)", "--token", try testbed.viewingToken(stream),
                        "--seconds", "65", "--settle", "12",
                    ], origin: NetworkTestbed.uri, in: testbed.network.hosts[host])
            }
            defer { browsers.forEach { $0.stop() } }
            // The estimate of a browser that publishes needs some seconds to permit all layers.
            for browser in browsers { try await Task.detached { try browser.awaitMeasurement() }.value }
            try await Task.sleep(for: .seconds(6))
            let fall = MonotonicClock.now()
            // A viewer of this project receives the lowest layer of AV1 only.
            let full = testbed.network.samples(of: 3, from: fall - .seconds(5), until: fall)
                .rate(\.downBytes, where: \.isUDP)
            func narrow(_ hosts: [Int], to rate: Double) {
                for host in hosts {
                    testbed.network.change(host) { $0.down.conditions.rate = Bitrate(bitsPerSecond: Int64(rate)) }
                }
            }
            // The capacity falls slowly, so that a freeze comes from the change of the layer and not from a full queue.
            for step in 1...fallSteps {
                let fallen = Double(step) / Double(fallSteps)
                narrow([0, 3], to: full * (first + (shares.middle - first) * fallen))
                narrow([1, 4], to: full * (first + (shares.lowest - first) * fallen))
                try await Task.sleep(for: .milliseconds(600))
            }
            try await Task.sleep(for: .seconds(15))
            narrow([0, 1, 3, 4], to: 4_000_000)
            try await Task.sleep(for: .seconds(20))
            let end = MonotonicClock.now()
            let freezes = try own.map { try ViewerMeasurement($0, from: fall, until: end).longestFreeze }
            var chromium: [JSONObject] = []
            for browser in browsers { chromium.append(try await Task.detached { try browser.metrics() }.value) }
            func numbers(_ name: String) -> [Double] { chromium.compactMap { $0[name]?.number } }
            let lowest = numbers("lowestHeight")
            return [
                ("bitrate", full), ("longestFreeze", freezes.compactMap(\.self).max()),
                ("chromiumLongestFreeze", numbers("longestFreezeMilliseconds").max()),
                ("middleHeight", lowest.first), ("lowestHeight", lowest.count == 2 ? lowest[1] : nil),
                ("lastHeight", numbers("lastHeight").min()),
                ("othersChanges", Double(own[2].events("dimensions", since: fall, until: end).count)),
                ("othersFreezeCount", try ViewerMeasurement(own[2], from: fall, until: end).freezeCount),
                ("ownMiddleHeight", lowestHeight(of: own[0], since: fall)),
                ("ownLowestHeight", lowestHeight(of: own[1], since: fall)),
            ]
        }
    }

    /// Returns the smallest height of frames that a viewer has shown since a time; nil if it has not changed.
    private static func lowestHeight(of viewer: RecordedProcess, since start: Instant) -> Double? {
        viewer.events("dimensions", since: start).compactMap { $0.number("height") }.min()
    }
}
