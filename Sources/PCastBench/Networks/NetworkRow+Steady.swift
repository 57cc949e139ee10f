import PCastMedia
import PCastNetwork

/// Rows of a network that stays as it is.
extension NetworkRow {
    static func steady(_ hop: NetworkScene.Hop) -> [NetworkRow] {
        [
            steady(
                "clean", hop, LinkConditions(delay: .milliseconds(10)),
                [
                    Target("nackCount", .exactly(0)), Target("pliCount", .exactly(0)),
                    Target("latencyP50", .atMost(70)),
                ]),
            steady(
                "loss-2", hop,
                LinkConditions(
                    delay: .milliseconds(25), jitter: .milliseconds(10), reorders: true, loss: .random(0.02)),
                [
                    Target("freezeCount", .exactly(0)), Target("framesPerSecond", .atLeast(29)),
                    Target("latencyP50", .atMost(160)), Target("concealed", .atMost(0.001)),
                ]),
            steady(
                "bursts-5", hop,
                LinkConditions(delay: .milliseconds(50), loss: .bursts(GilbertElliott(share: 0.05, length: 4))),
                [
                    Target("freezeShare", .atMost(0.01)), Target("framesBroken", .exactly(0)),
                    Target("latencyP50", .atMost(350)),
                ]),
            steady(
                "loss-10", hop, LinkConditions(delay: .milliseconds(30), loss: .random(0.1)),
                [Target("concealed", .atMost(0.015)), Target("framesPerSecond", .atLeast(24))]),
            steady(
                "path-1280", hop, LinkConditions(delay: .milliseconds(10), maximumPacketSize: 1_280),
                [
                    Target("oversized", .exactly(0)), Target("fragments", .exactly(0)),
                    Target("packetsLost", .exactly(0)), Target("framesPerSecond", .atLeast(29)),
                ]),
        ]
    }

    /// Loss that a link has is had in both directions, so that requests for repairs are lost, too.
    private static func steady(
        _ name: String, _ hop: NetworkScene.Hop, _ conditions: LinkConditions, _ targets: [Target]
    ) -> NetworkRow {
        NetworkRow(name: "\(name)-\(hop.rawValue)", targets: targets) { seconds in
            var options = NetworkScene.Options()
            options.hop = hop
            options.conditions = conditions
            return try await WatchedScene.run(options) { watched in
                try await watched.wait(Double(seconds))
                return figures(of: try watched.watching(since: watched.start), watched.scene)
            }
        }
    }

    private static func figures(of watching: Watching, _ scene: NetworkScene) -> Figures {
        let link = scene.network.statistics(of: 0)
        return [
            ("framesPerSecond", watching.framesPerSecond), ("freezeCount", watching.freezeCount),
            ("freezeShare", watching.freezeShare), ("latencyP50", watching.latencyP50),
            ("concealed", watching.concealedShare), ("framesBroken", watching.brokenFrames),
            ("bitrate", watching.bitrate), ("packetsLost", watching.growth("packetsLost")),
            ("nackCount", watching.growth("nackCount")), ("pliCount", watching.growth("pliCount")),
            ("oversized", Double(link.up.oversized + link.down.oversized)), ("fragments", Double(link.fragments)),
        ]
    }
}
