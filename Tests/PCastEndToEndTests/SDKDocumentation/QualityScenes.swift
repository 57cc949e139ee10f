import Foundation
import PCast
import PCastCore
import Testing

/// Streams over networks that become bad step by step, shared by all tests of a suite. They run concurrently from its
/// beginning. Each continues when the events of a step have arrived, and each test waits for its own.
struct QualityScenes: Sendable {
    @TaskLocal static var shared: QualityScenes?

    static func current() throws -> QualityScenes { try #require(shared, "the suite has its scenes") }

    /// The publisher's uplink gets narrow until it carries only audio, and then nothing. The viewer's network is good.
    let narrowUplink: Scene
    /// One of two viewers has a network that becomes narrow and then carries nothing.
    let narrowDownlink: Scene
    /// One of two viewers has a network without bandwidth for video, and the stream has no audio.
    let silent: Scene
    /// Two streams with a publisher and a viewer each. The network of one stream's publisher and that of the other's
    /// viewer are down until all affected peers have been notified.
    let cut: Scene

    struct Scene: Sendable {
        let network: ImpairedPlatform
        let publisher: RunningProgram
        /// The viewer on the good network, or the one of a stream whose publisher is on the bad one.
        let viewer: RunningProgram
        /// The viewer on the bad network.
        let other: RunningProgram
        /// The expected data quality after each step of the network.
        let rows: [[Row]]
    }

    /// A data quality that a program receives.
    struct Row: Sendable {
        enum Program { case publisher, viewer, other }

        let program: Program
        let status: String
        let reason: String
        /// The step after which it is expected.
        var since: Int?

        init(_ program: Program, _ status: String, _ reason: String, since: Int? = nil) {
            self.program = program
            self.status = status
            self.reason = reason
            self.since = since
        }
    }

    static func start(in workspace: TestWorkspace) async throws -> QualityScenes {
        let rates = ["rate=600k", "rate=100k"]
        async let uplink = narrow(
            in: workspace, isPublisherBad: true, rates + ["up down"],
            rows: [
                [Row(.publisher, "all", "upload-limited"), Row(.viewer, "all", "publisher-limited")],
                [Row(.publisher, "audio-only", "upload-limited"), Row(.viewer, "audio-only", "publisher-limited")],
                [Row(.publisher, "no-data", "upload-limited", since: 1)],
            ])
        async let downlink = narrow(
            in: workspace, isPublisherBad: false, rates + ["down down"],
            rows: [
                ["all", "network-limited"], ["audio-only", "network-limited"],
            ].map { row in
                [
                    Row(.other, row[0], "download-limited"), Row(.publisher, row[0], row[1]),
                    Row(.viewer, row[0], row[1]),
                ]
            } + [[Row(.other, "no-data", "download-limited", since: 1)]])
        async let silent = narrow(
            in: workspace, isPublisherBad: false, ["rate=60k"], hasAudio: false,
            rows: [[Row(.viewer, "no-data", "network-limited")]])
        async let cut = Self.cut(in: workspace)
        return try await QualityScenes(narrowUplink: uplink, narrowDownlink: downlink, silent: silent, cut: cut)
    }

    /// Makes the networks bad, each on its own.
    func play() async {
        await withTaskGroup { group in
            for scene in [narrowUplink, narrowDownlink, silent, cut] { group.addTask { try? await scene.play() } }
        }
    }

    /// Starts a scene with an impaired network and its successive conditions.
    private static func narrow(
        in workspace: TestWorkspace, isPublisherBad: Bool, _ steps: [String], hasAudio: Bool = true, rows: [[Row]]
    ) async throws -> Scene {
        let network = try await ImpairedPlatform.start(in: workspace, steps: steps)
        let publisher = try await publish(to: network, isBad: isPublisherBad, hasAudio: hasAudio)
        let viewer = try await watch(publisher, of: network, isBad: false)
        let other = isPublisherBad ? viewer : try await watch(publisher, of: network, isBad: true)
        return Scene(network: network, publisher: publisher, viewer: viewer, other: other, rows: rows)
    }

    private static func cut(in workspace: TestWorkspace) async throws -> Scene {
        let network = try await ImpairedPlatform.start(in: workspace, steps: ["down", "up"])
        let publisher = try await publish(to: network, isBad: true)
        let viewer = try await watch(publisher, of: network, isBad: false)
        let good = try await publish(to: network, isBad: false)
        let other = try await watch(good, of: network, isBad: true)
        return Scene(
            network: network, publisher: publisher, viewer: viewer, other: other,
            rows: [
                [
                    Row(.publisher, "no-data", "none"), Row(.other, "no-data", "none"),
                    Row(.viewer, "no-data", "publisher-limited"),
                ], [],
            ])
    }

    private static func publish(
        to network: ImpairedPlatform, isBad: Bool, hasAudio: Bool = true
    ) async throws -> RunningProgram {
        let platform = network.platform
        let token =
            hasAudio
            ? try await platform.publishingToken()
            : try await platform.workspace.token(
                LocalPlatform.application, "--type", "publish", "--capability", "video-only")
        let arguments = [
            "publish", "--json", "--uri", isBad ? network.badURI : platform.uri, "--token",
            try await platform.authenticationToken(), "--token", token, "--video", "synthetic", "--fps", "15",
            "--audio", "synthetic",
        ]
        let publisher = try platform.workspace.start(
            BuiltProgram.path("pcast"), arguments, limit: .longestSuite)
        _ = try await publisher.event("publishing")
        return publisher
    }

    private static func watch(
        _ publisher: RunningProgram, of network: ImpairedPlatform, isBad: Bool
    ) async throws -> RunningProgram {
        let platform = network.platform
        let stream = try #require(publisher.events("publishing").first?["streamId"].text)
        let viewer = try platform.workspace.pcast(
            "subscribe", "--uri", isBad ? network.badURI : platform.uri, "--token",
            try await platform.authenticationToken(), "--token", try await platform.viewingToken(stream),
            limit: .longestSuite)
        _ = try await viewer.event("firstFrame")
        return viewer
    }
}

extension QualityScenes.Scene {
    /// Makes the network bad step by step, once the streams have settled.
    fileprivate func play() async throws {
        for program in [publisher, viewer, other] { try await program.awaitStatistics(10) }
        for (number, rows) in rows.enumerated() {
            try await network.step()
            // An event that is missing makes the test fail that waits for it.
            for row in rows {
                let since = try await network.stepTime(row.since ?? number)
                _ = try? await self[row.program].quality(row.status, row.reason, since: since)
            }
        }
    }

    private subscript(program: QualityScenes.Row.Program) -> RunningProgram {
        switch program {
        case .publisher: publisher
        case .viewer: viewer
        case .other: other
        }
    }

    /// Waits until a program reports a row after the change number `step` of the network. Prints the delay.
    func isNotified(_ program: RunningProgram, _ row: String, _ reason: String, step: Int = 0) async throws {
        let delay = try await program.quality(row, reason, since: try await network.stepTime(step))
        print("\(program.name) is notified “\(row) \(reason)” \(delay) s after its network changed")
    }

    /// Returns the data qualities that a program received while its network was good.
    func earlyRows(of program: RunningProgram) async throws -> [JSON] {
        let onset = try await network.stepTime(0)
        return try program.events("dataQuality").filter { try $0.time < onset }
    }
}

/// Provides ``QualityScenes`` to a suite.
struct QualityScenesTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await TestWorkspace.run { workspace in
            let scenes = try await QualityScenes.start(in: workspace)
            async let play: Void = scenes.play()
            try await QualityScenes.$shared.withValue(scenes) { try await function() }
            await play
        }
    }
}

extension Trait where Self == QualityScenesTrait {
    static var qualityScenes: Self { QualityScenesTrait() }
}
