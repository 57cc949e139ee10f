import Foundation
import PCast
import PCastMedia
import Testing

/// Streams over networks that become bad at their times, for all tests of a suite: they run beside each other from its
/// beginning, and each test waits for its row.
struct QualityScenes: Sendable {
    /// The programs have started by then, and streams have settled.
    static let onset = 20.0

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
    /// gone for four seconds.
    let cut: Scene

    struct Scene: Sendable {
        let network: ImpairedPlatform
        let publisher: RunningProgram
        /// On the good way, but where the publisher of a cut scene stands on it.
        let viewer: RunningProgram
        /// On the bad way.
        let other: RunningProgram
    }

    static func start(in place: Workplace) async throws -> QualityScenes {
        let steps = ["rate=600k", "rate=100k"]
        async let uplink = narrow(in: place, isPublisherBad: true, steps + ["up down"])
        async let downlink = narrow(in: place, isPublisherBad: false, steps + ["down down"])
        async let silent = narrow(in: place, isPublisherBad: false, ["rate=60k"], hasSound: false)
        async let cut = Self.cut(in: place)
        return try await QualityScenes(narrowUplink: uplink, narrowDownlink: downlink, silent: silent, cut: cut)
    }

    /// - Parameter steps: what the bad network becomes, at the onset and each time that a row has had time to be told.
    private static func narrow(
        in place: Workplace, isPublisherBad: Bool, _ steps: [String], hasSound: Bool = true
    ) async throws -> Scene {
        let changes = steps.enumerated().map { "\(Int(onset) + $0.offset * 20)s \($0.element)" }
        let network = try await ImpairedPlatform.start(in: place, changes: changes)
        let publisher = try await publish(to: network, isBad: isPublisherBad, hasSound: hasSound)
        let viewer = try await watch(publisher, of: network, isBad: false)
        let other = isPublisherBad ? viewer : try await watch(publisher, of: network, isBad: true)
        return Scene(network: network, publisher: publisher, viewer: viewer, other: other)
    }

    private static func cut(in place: Workplace) async throws -> Scene {
        let network = try await ImpairedPlatform.start(
            in: place, changes: ["\(Int(onset))s down", "\(Int(onset) + 4)s up"])
        let publisher = try await publish(to: network, isBad: true)
        let viewer = try await watch(publisher, of: network, isBad: false)
        let good = try await publish(to: network, isBad: false)
        let other = try await watch(good, of: network, isBad: true)
        return Scene(network: network, publisher: publisher, viewer: viewer, other: other)
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
    /// Waits until a program tells a row, of those after the network became bad for the nth time; prints how long after.
    func isTold(_ program: RunningProgram, _ row: String, _ reason: String, step: Int = 0) async throws {
        let since = QualityScenes.onset + Double(step) * 20
        let delay = try await program.quality(row, [reason], of: network, since: since, within: .seconds(200))
        print("\(program.name) is told “\(row) \(reason)” \(delay) s after its network changed")
    }
}

/// Gives a suite its ``QualityScenes``.
struct QualityScenesTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await Workplace.run { place in
            let scenes = try await QualityScenes.start(in: place)
            try await QualityScenes.$shared.withValue(scenes) { try await function() }
        }
    }
}

extension Trait where Self == QualityScenesTrait {
    static var qualityScenes: Self { QualityScenesTrait() }
}
