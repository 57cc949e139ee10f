import PCastCore
import PCastIO
import PCastJSON
import PCastTestSupport

/// A row of `pcast-bench networks`.
struct NetworkRow: Sendable {
    typealias Metrics = [(key: String, value: Double?)]

    let name: String
    let targets: [Target]
    /// Measures for the given number of seconds and returns the results.
    let measure: @Sendable (_ seconds: Int) async throws -> Metrics

    /// Whether all targets are met; a target without a measured value is missed.
    func passes(_ metrics: Metrics) -> Bool {
        targets.allSatisfy { target in target.holds(for: metrics.first { $0.key == target.metric }?.value) }
    }
}

/// The first four networks with a browser as one of the peers; the results are the browser's own statistics.
extension NetworkRow {
    static let browsers: [NetworkRow] = networks.map(watching) + networks.map(publishing)

    private static func number(_ metrics: JSONObject, _ name: String) -> Double? { metrics[name]?.number }

    /// The latency at a viewing browser. There is none for a publishing browser, whose fake camera shows no time code.
    private static let lag = "lagMilliseconds"

    private static func watching(_ network: Steady) -> NetworkRow {
        let targets = network.targets.compactMap { target in
            switch target.metric {
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
            let metrics = try await Task.detached { try browser.metrics() }.value
            func number(_ name: String) -> Double? { Self.number(metrics, name) }
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
        let targets = network.targets.filter { $0.metric != "latencyP50" && $0.metric != "framesBroken" }
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
            let metrics = try await Task.detached { try browser.metrics() }.value
            return [
                ("framesPerSecond", watching.framesPerSecond), ("freezeCount", watching.freezeCount),
                ("freezeShare", watching.freezeShare), ("concealed", watching.concealedShare),
                ("nackCount", number(metrics, "nackCount")), ("pliCount", watching.growth("pliCount")),
                ("browsersBitrate", number(metrics, "bitrate")),
                ("browsersRetransmissions", number(metrics, "retransmittedPacketsSent")),
            ]
        }
    }
}

/// Rows of networks that are interrupted, change, or are restricted by a firewall.
extension NetworkRow {
    static func interrupted(_ impairedPeer: NetworkTestbed.ImpairedPeer) -> [NetworkRow] {
        [
            stalling(impairedPeer), cut(impairedPeer),
            moving(impairedPeer, "rebinding") { $0.network.change(0) { $0.rebind() } },
            moving(impairedPeer, "address-change") { try $0.network.moveAddress(of: 0) },
            blocked(impairedPeer, "udp-blocked", .tcpOnly), blocked(impairedPeer, "only-443", .tcpPort443Only),
        ]
    }

    private static func options(_ impairedPeer: NetworkTestbed.ImpairedPeer, stall: Stall? = nil)
        -> NetworkTestbed.Options
    {
        var options = NetworkTestbed.Options()
        options.impairedPeer = impairedPeer
        options.conditions = LinkConditions(delay: .milliseconds(10), stall: stall)
        return options
    }

    /// A stall of 200 ms every 5 s. The jitter buffer may grow at the first stalls; later ones must not be visible.
    private static func stalling(_ impairedPeer: NetworkTestbed.ImpairedPeer) -> NetworkRow {
        let targets = [Target("longestFreeze", .atMost(300)), Target("growths", .atMost(1))]
        return NetworkRow(name: "stall-\(impairedPeer.rawValue)", targets: targets) { seconds in
            let stall = Stall(.milliseconds(200), each: .seconds(5))
            return try await MeasuredTestbed.run(options(impairedPeer, stall: stall)) { watched in
                try await watched.wait(Double(max(seconds, 20)))
                let watching = try watched.viewerMeasurement(since: watched.start)
                return [
                    ("longestFreeze", watching.longestFreeze), ("growths", watching.latencyGrowths),
                    ("freezeCount", watching.freezeCount), ("framesPerSecond", watching.framesPerSecond),
                    ("latencyP50", watching.latencyP50),
                ]
            }
        }
    }

    /// A complete interruption of 4 s.
    private static func cut(_ impairedPeer: NetworkTestbed.ImpairedPeer) -> NetworkRow {
        let targets = [
            Target("viewerNotified", .atMost(2)), Target("publisherNotified", .atMost(2)),
            Target("videoResumed", .atMost(3)),
        ]
        let isViewer = impairedPeer == .viewer
        return NetworkRow(
            name: "cut-4s-\(impairedPeer.rawValue)", targets: isViewer ? [targets[0], targets[2]] : targets
        ) { _ in
            try await MeasuredTestbed.run(options(impairedPeer)) { watched in
                let fall = watched.change { $0.isDown = true }
                async let viewer = watched.quality(
                    "no-data", isViewer ? ["none", "download-limited"] : ["publisher-limited"], of: watched.viewer,
                    since: fall, within: .seconds(4))
                async let publisher = watched.quality(
                    "no-data", ["none", "upload-limited"], of: watched.publisher, since: fall,
                    within: .seconds(4))
                try await watched.wait(4)
                let rise = watched.change { $0.isDown = false }
                let back = await watched.frames(since: rise, within: .seconds(15))
                return await [
                    ("viewerNotified", viewer), ("publisherNotified", isViewer ? nil : publisher),
                    ("videoResumed", back),
                ]
            }
        }
    }

    /// The address of one end changes during the session.
    private static func moving(
        _ impairedPeer: NetworkTestbed.ImpairedPeer, _ name: String,
        _ move: @escaping @Sendable (NetworkTestbed) throws -> Void
    ) -> NetworkRow {
        let targets = [Target("longestFreeze", .atMost(1_000)), Target("framesPerSecond", .atLeast(25))]
        return NetworkRow(name: "\(name)-\(impairedPeer.rawValue)", targets: targets) { _ in
            try await MeasuredTestbed.run(options(impairedPeer)) { watched in
                try move(watched.testbed)
                try await watched.wait(10)
                let watching = try watched.viewerMeasurement(since: watched.start - .seconds(2))
                return [
                    ("longestFreeze", watching.longestFreeze), ("framesPerSecond", watching.framesPerSecond),
                    ("freezeCount", watching.freezeCount),
                ]
            }
        }
    }

    /// A firewall restricts the traffic from the start.
    private static func blocked(
        _ impairedPeer: NetworkTestbed.ImpairedPeer, _ name: String, _ firewall: TunneledHost.Firewall
    ) -> NetworkRow {
        let targets = [
            Target("firstFrame", .atMost(3_000)), Target("framesPerSecond", .atLeast(25)),
            Target("datagrams", .exactly(0)),
        ]
        return NetworkRow(name: "\(name)-\(impairedPeer.rawValue)", targets: targets) { seconds in
            var options = options(impairedPeer)
            options.firewall = firewall
            options.usesTLS = firewall == .tcpPort443Only
            return try await MeasuredTestbed.run(options) { watched in
                try await watched.wait(Double(seconds))
                let watching = try watched.viewerMeasurement(since: watched.start)
                let first = try await watched.viewer.first("firstFrame").number("milliseconds")
                let all = watched.samples(from: Instant(nanoseconds: 0))
                return [
                    ("firstFrame", first), ("framesPerSecond", watching.framesPerSecond),
                    ("freezeShare", watching.freezeShare), ("latencyP50", watching.latencyP50),
                    ("datagrams", all.rate(watched.bytes, where: \.isUDP)),
                ]
            }
        }
    }
}

extension ViewerMeasurement {
    /// An upper bound of the longest freeze in milliseconds: the largest increase of the freeze duration between two
    /// successive statistics.
    var longestFreeze: Double? {
        let sums = values("freezeDuration")
        guard sums.count >= 2 else { return nil }
        return zip(sums, sums.dropFirst()).map { $1 - $0 }.max()
    }

    /// The number of times that the latency exceeded its previous maximum by more than 60 ms.
    var latencyGrowths: Double? {
        let lags = values("latencyP50")
        guard var highest = lags.first else { return nil }
        var growths = 0.0
        for lag in lags where lag > highest + 60 {
            highest = lag
            growths += 1
        }
        return growths
    }
}

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
        let unimpairedViewers = try [1, 1].map { try testbed.view(stream, from: $0) }
        defer { unimpairedViewers.forEach { $0.stop() } }
        for viewer in unimpairedViewers { _ = try await viewer.first("firstFrame") }
        let light = try testbed.startLightViewers(stream, count: lightViewers)
        defer { light.stop() }
        let impairedProcess = try testbed.view(stream, from: 0)
        defer { impairedProcess.stop() }
        _ = try await light.first("watching", within: .seconds(60))
        let start = MonotonicClock.now()
        try await Task.sleep(for: .seconds(seconds))
        let end = MonotonicClock.now()
        light.interrupt()
        let lightRow = try await light.first("row")
        let watching = try unimpairedViewers.map { try ViewerMeasurement($0, from: start, until: end) }
        let impairedViewer = try? ViewerMeasurement(impairedProcess, from: start, until: end)
        func worst(_ metric: (ViewerMeasurement) -> Double?) -> Double? {
            let values = watching.compactMap(metric)
            return values.count == watching.count ? values.max() : nil
        }
        let lightMetrics = LightViewingMetrics.names.map { (key: $0, value: lightRow.number($0)) }
        return [
            ("framesPerSecond", watching.compactMap(\.framesPerSecond).min()), ("freezeCount", worst(\.freezeCount)),
            ("packetsLost", worst { $0.growth("packetsLost") }), ("nackCount", worst { $0.growth("nackCount") }),
            ("pliCount", worst { $0.growth("pliCount") }), ("latencyP50", worst(\.latencyP50)),
            ("badFramesPerSecond", impairedViewer?.framesPerSecond),
            ("badNackCount", impairedViewer?.growth("nackCount")),
        ] + lightMetrics
    }
}

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
