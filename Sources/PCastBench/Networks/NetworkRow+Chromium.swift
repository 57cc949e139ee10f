import PCastCore
import PCastIO
import PCastJSON

/// The first four networks with a browser as one of the peers; the results are the browser's own statistics.
extension NetworkRow {
    static let browsers: [NetworkRow] = networks.map(watching) + networks.map(publishing)

    private static func number(_ figures: JSONObject, _ name: String) -> Double? { figures[name]?.number }

    /// The latency at a viewing browser. There is none for a publishing browser, whose fake camera shows no time code.
    private static let lag = "lagMilliseconds"

    private static func watching(_ network: Steady) -> NetworkRow {
        let targets = network.targets.compactMap { target in
            switch target.figure {
            case "latencyP50": Target(lag, target.bound)
            case "framesBroken": Target("stripsBroken", target.bound)
            default: target
            }
        }
        return NetworkRow(name: "chromium-viewer-\(network.name)", targets: targets) { seconds in
            var options = NetworkTestbed.Options()
            options.conditions = network.conditions
            let testbed = try await NetworkTestbed(options)
            defer { testbed.stop() }
            let (publisher, stream) = try await testbed.publish()
            defer { publisher.stop() }
            let browser = try ChromiumPeer(
                "watch_chromium.py",
                [
                    "\(NetworkTestbed.uri)/watch/\(stream)", "--token", try testbed.viewingToken(stream), "--seconds",
                    "\(seconds)",
                ], origin: NetworkTestbed.uri, in: testbed.viewersNamespace)
            defer { browser.stop() }
            let figures = try await Task.detached { try browser.figures() }.value
            func number(_ name: String) -> Double? { Self.number(figures, name) }
            let concealed = number("concealedSamples")
            return [
                ("framesPerSecond", number("framesDecodedMeasured").map { $0 / Double(seconds) }),
                ("freezeCount", number("freezeCount")),
                ("freezeShare", number("freezeSeconds").map { $0 / Double(seconds) }),
                (lag, number(lag)), ("stripsBroken", number("stripsBroken")),
                (
                    "concealed",
                    concealed.flatMap { part in number("totalSamplesReceived").map { part / max(1, $0) } }
                ),
                ("nackCount", number("nackCountMeasured")), ("pliCount", number("pliCountMeasured")),
            ]
        }
    }

    private static func publishing(_ network: Steady) -> NetworkRow {
        let targets = network.targets.filter { $0.figure != "latencyP50" && $0.figure != "framesBroken" }
        return NetworkRow(name: "chromium-publisher-\(network.name)", targets: targets) { seconds in
            var options = NetworkTestbed.Options()
            options.impairedPeer = .publisher
            options.conditions = network.conditions
            let testbed = try await NetworkTestbed(options)
            defer { testbed.stop() }
            let browser = try ChromiumPeer(
                "publish_chromium.py",
                [
                    "\(NetworkTestbed.uri)/publish", "--token", try testbed.publishingToken(), "--codec", "H264",
                    "--seconds", "\(seconds + 8)",
                ], origin: NetworkTestbed.uri, in: testbed.publishersNamespace)
            defer { browser.stop() }
            let stream = StreamID(try await Task.detached { try browser.streamID() }.value)
            let viewer = try testbed.view(stream)
            defer { viewer.stop() }
            _ = try await viewer.first("firstFrame")
            try await Task.sleep(for: .seconds(3))
            let start = MonotonicClock.now()
            try await Task.sleep(for: .seconds(seconds))
            let watching = try ViewerMeasurement(viewer, from: start, until: MonotonicClock.now())
            let figures = try await Task.detached { try browser.figures() }.value
            return [
                ("framesPerSecond", watching.framesPerSecond), ("freezeCount", watching.freezeCount),
                ("freezeShare", watching.freezeShare), ("concealed", watching.concealedShare),
                ("nackCount", number(figures, "nackCount")), ("pliCount", watching.growth("pliCount")),
                ("browsersBitrate", number(figures, "bitrate")),
                ("browsersRetransmissions", number(figures, "retransmittedPacketsSent")),
            ]
        }
    }
}
