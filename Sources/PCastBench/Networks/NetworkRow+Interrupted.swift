import PCastCore
import PCastIO
import PCastNetworkEmulation

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
                let watching = try watched.watching(since: watched.start)
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
                let watching = try watched.watching(since: watched.start - .seconds(2))
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
                let watching = try watched.watching(since: watched.start)
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
