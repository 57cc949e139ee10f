import PCastCore
import PCastTestSupport

/// Rows of networks with constant conditions.
extension NetworkRow {
    struct Steady: Sendable {
        let name: String
        let conditions: LinkConditions
        let targets: [Target]
    }

    /// The first four networks. Packets are lost in both directions, so that NACKs are lost too.
    static let networks = [
        Steady(
            name: "clean", conditions: LinkConditions(delay: .milliseconds(10)),
            targets: [
                Target("nackCount", .exactly(0)), Target("pliCount", .exactly(0)), Target("latencyP50", .atMost(70)),
            ]),
        Steady(
            name: "loss-2",
            conditions: LinkConditions(delay: .milliseconds(25), jitter: .milliseconds(10), loss: .random(0.02)),
            targets: [
                Target("freezeCount", .exactly(0)), Target("framesPerSecond", .atLeast(29)),
                Target("latencyP50", .atMost(160)), Target("concealed", .atMost(0.001)),
            ]),
        Steady(
            name: "bursts-5",
            conditions: LinkConditions(
                delay: .milliseconds(50), loss: .bursts(GilbertElliott(share: 0.05, length: 4))),
            targets: [
                Target("freezeShare", .atMost(0.01)), Target("framesBroken", .exactly(0)),
                Target("latencyP50", .atMost(350)),
            ]),
        Steady(
            name: "loss-10", conditions: LinkConditions(delay: .milliseconds(30), loss: .random(0.1)),
            targets: [Target("concealed", .atMost(0.015)), Target("framesPerSecond", .atLeast(24))]),
    ]

    /// A path with the minimum MTU of IPv6 (RFC 8200, section 5).
    private static let narrowPath = Steady(
        name: "path-1280", conditions: LinkConditions(delay: .milliseconds(10), maximumPacketSize: 1_280),
        targets: [
            Target("oversized", .exactly(0)), Target("fragments", .exactly(0)), Target("packetsLost", .exactly(0)),
            Target("framesPerSecond", .atLeast(29)),
        ])

    static func steady(_ impairedPeer: NetworkTestbed.ImpairedPeer) -> [NetworkRow] {
        (networks + [narrowPath]).map { network in
            NetworkRow(name: "\(network.name)-\(impairedPeer.rawValue)", targets: network.targets) { seconds in
                var options = NetworkTestbed.Options()
                options.impairedPeer = impairedPeer
                options.conditions = network.conditions
                return try await MeasuredTestbed.run(options) { watched in
                    try await watched.wait(Double(seconds))
                    return metrics(of: try watched.viewerMeasurement(since: watched.start), watched.testbed)
                }
            }
        }
    }

    /// The rows of the networks with loss for the codecs VP9 and AV1, which the publisher encodes.
    static let otherCodecs: [NetworkRow] = ["vp9", "av1"].flatMap { codec in
        networks.filter { ["loss-2", "bursts-5"].contains($0.name) }.flatMap { network in
            NetworkTestbed.ImpairedPeer.allCases.map { impairedPeer in
                NetworkRow(name: "\(codec)-\(network.name)-\(impairedPeer.rawValue)", targets: network.targets) {
                    seconds in
                    var options = NetworkTestbed.Options()
                    options.impairedPeer = impairedPeer
                    options.conditions = network.conditions
                    options.publish = ["--codec", codec]
                    return try await MeasuredTestbed.run(options) { watched in
                        try await watched.wait(Double(seconds))
                        return metrics(of: try watched.viewerMeasurement(since: watched.start), watched.testbed)
                    }
                }
            }
        }
    }

    private static func metrics(of watching: ViewerMeasurement, _ testbed: NetworkTestbed) -> Metrics {
        let link = testbed.network.statistics(of: 0)
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
