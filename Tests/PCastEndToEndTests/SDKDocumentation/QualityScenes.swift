import Foundation
import PCast
import PCastCore
import Testing

/// Streams over networks that become bad step by step, for all tests of a suite: they run beside each other from its
/// beginning, each goes on when the rows of a step have been told, and each test waits for its row.
struct QualityScenes: Sendable {
    @TaskLocal static var shared: QualityScenes?

    static func current() throws -> QualityScenes { try #require(shared, "the suite has its scenes") }

    /// The publisher's network narrows until there is room for sound alone, and then for nothing from it; its viewer's is
    /// good.
    let narrowUplink: Scene
    /// One of two viewers' networks narrows in the same way, and then has room for nothing to it.
    let narrowDownlink: Scene
    /// One of two viewers' networks has no room for a picture, and the stream has no sound.
    let silent: Scene
    /// Two streams with a publisher and a viewer each: the network of one stream's publisher and of the other's viewer is
    /// gone until they and who depends on them were told.
    let cut: Scene

    struct Scene: Sendable {
        let network: ImpairedPlatform
        let publisher: RunningProgram
        /// On the good way, but where the publisher of a cut scene stands on it.
        let viewer: RunningProgram
        /// On the bad way.
        let other: RunningProgram
        /// What is waited for after each step of the network.
        let rows: [[Row]]
    }

    /// What a program is told.
    struct Row: Sendable {
        enum Program { case publisher, viewer, other }

        let program: Program
        let status: String
        let reason: String
        /// Since which step.
        var since: Int?

        init(_ program: Program, _ status: String, _ reason: String, since: Int? = nil) {
            self.program = program
            self.status = status
            self.reason = reason
            self.since = since
        }
    }

    static func start(in place: TestWorkspace) async throws -> QualityScenes {
        let rates = ["rate=600k", "rate=100k"]
        async let uplink = narrow(
            in: place, isPublisherBad: true, rates + ["up down"],
            rows: [
                [Row(.publisher, "all", "upload-limited"), Row(.viewer, "all", "publisher-limited")],
                [Row(.publisher, "audio-only", "upload-limited"), Row(.viewer, "audio-only", "publisher-limited")],
                [Row(.publisher, "no-data", "upload-limited", since: 1)],
            ])
        async let downlink = narrow(
            in: place, isPublisherBad: false, rates + ["down down"],
            rows: [
                ["all", "network-limited"], ["audio-only", "network-limited"],
            ].map { row in
                [
                    Row(.other, row[0], "download-limited"), Row(.publisher, row[0], row[1]),
                    Row(.viewer, row[0], row[1]),
                ]
            } + [[Row(.other, "no-data", "download-limited", since: 1)]])
        async let silent = narrow(
            in: place, isPublisherBad: false, ["rate=60k"], hasSound: false,
            rows: [[Row(.viewer, "no-data", "network-limited")]])
        async let cut = Self.cut(in: place)
        return try await QualityScenes(narrowUplink: uplink, narrowDownlink: downlink, silent: silent, cut: cut)
    }

    /// Makes the networks bad, each by itself.
    func play() async {
        await withTaskGroup { group in
            for scene in [narrowUplink, narrowDownlink, silent, cut] { group.addTask { try? await scene.play() } }
        }
    }

    /// - Parameter steps: what the bad network becomes.
    private static func narrow(
        in place: TestWorkspace, isPublisherBad: Bool, _ steps: [String], hasSound: Bool = true, rows: [[Row]]
    ) async throws -> Scene {
        let network = try await ImpairedPlatform.start(in: place, steps: steps)
        let publisher = try await publish(to: network, isBad: isPublisherBad, hasSound: hasSound)
        let viewer = try await watch(publisher, of: network, isBad: false)
        let other = isPublisherBad ? viewer : try await watch(publisher, of: network, isBad: true)
        return Scene(network: network, publisher: publisher, viewer: viewer, other: other, rows: rows)
    }

    private static func cut(in place: TestWorkspace) async throws -> Scene {
        let network = try await ImpairedPlatform.start(in: place, steps: ["down", "up"])
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
        to network: ImpairedPlatform, isBad: Bool, hasSound: Bool = true
    ) async throws -> RunningProgram {
        let platform = network.platform
        let token =
            hasSound
            ? try await platform.publishingToken()
            : try await platform.place.token(
                LocalPlatform.application, "--type", "publish", "--capability", "video-only")
        let arguments = [
            "publish", "--json", "--uri", isBad ? network.badURI : platform.uri, "--token",
            try await platform.authenticationToken(), "--token", token, "--video", "synthetic", "--fps", "15",
            "--audio", "synthetic",
        ]
        let publisher = try platform.place.start(
            BuiltProgram.path("pcast"), arguments, limit: .longestSuite)
        _ = try await publisher.event("publishing")
        return publisher
    }

    private static func watch(
        _ publisher: RunningProgram, of network: ImpairedPlatform, isBad: Bool
    ) async throws -> RunningProgram {
        let platform = network.platform
        let stream = try #require(publisher.events("publishing").first?["streamId"].text)
        let viewer = try platform.place.pcast(
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
            // What is not told in time is a failure of the test that waits for it.
            for row in rows {
                let since = try await network.stepTime(row.since ?? number)
                _ = try? await self[row.program].quality(
                    row.status, row.reason, since: since, within: .seconds(30))
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

    /// Waits until a program tells a row, of those after the network became bad for the nth time; prints how long after.
    func isTold(_ program: RunningProgram, _ row: String, _ reason: String, step: Int = 0) async throws {
        let delay = try await program.quality(row, reason, since: try await network.stepTime(step))
        print("\(program.name) is told “\(row) \(reason)” \(delay) s after its network changed")
    }

    /// The rows that a program was told while its network was good.
    func earlyRows(of program: RunningProgram) async throws -> [JSON] {
        let onset = try await network.stepTime(0)
        return try program.events("dataQuality").filter { try $0.time < onset }
    }
}

/// Gives a suite its ``QualityScenes``.
struct QualityScenesTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await TestWorkspace.run { place in
            let scenes = try await QualityScenes.start(in: place)
            async let play: Void = scenes.play()
            try await QualityScenes.$shared.withValue(scenes) { try await function() }
            await play
        }
    }
}

extension Trait where Self == QualityScenesTrait {
    static var qualityScenes: Self { QualityScenesTrait() }
}
