import Foundation
import PCast
import PCastCore
import PCastEdgeAuth
import Testing

/// One platform in its own process with its application's backend, shared by all tests of a suite.
struct SharedPlatform: Sendable {
    let platform: LocalPlatform
    /// The backend, which prints one line for each notification; nil without Python.
    let backend: RunningProgram?

    @TaskLocal static var shared: SharedPlatform?

    static func current() throws -> SharedPlatform { try #require(shared, "the suite has a platform") }

    static func start(in workspace: TestWorkspace, _ options: [String] = []) async throws -> SharedPlatform {
        let platform = try await LocalPlatform.start(
            in: workspace, ["--webhook-allow", "127.0.0.1"] + options, limit: .longestSuite)
        guard ThisMachine.hasPython else { return SharedPlatform(platform: platform, backend: nil) }
        let backend = try workspace.start(
            "\(BuiltProgram.peers)/notified.py",
            ["--uri", platform.uri, "--application", LocalPlatform.application], limit: .longestSuite)
        _ = try await backend.event("registered")
        return SharedPlatform(platform: platform, backend: backend)
    }

    // MARK: Tokens

    /// Returns a token of the application, as its backend would create it.
    func token(
        lifetime: Duration = .seconds(600), _ restrict: (EdgeTokenBuilder) -> EdgeTokenBuilder
    ) throws -> String {
        let parts = LocalPlatform.application.split(separator: ":").map(String.init)
        let now = WallTime(millisecondsSinceEpoch: Int64(Date().timeIntervalSince1970 * 1_000))
        return try restrict(
            EdgeTokenBuilder().withApplicationId(parts[0]).withSecret(parts[1]).expiresIn(lifetime, from: now)
        ).build()
    }

    var authenticationToken: String { get throws { try token { $0.forAuthenticationOnly() } } }
    var publishingToken: String { get throws { try token { $0.forPublishingOnly() } } }

    func viewingToken(_ stream: StreamID) throws -> String {
        try token { $0.forStreamingOnly().forOriginStream(stream.description) }
    }

    /// Returns a token from the public EdgeAuth library.
    func publicToken(_ kind: String, _ stream: StreamID? = nil) async throws -> String {
        let printed = try await platform.workspace.run(
            "\(BuiltProgram.peers)/edge_auth.py",
            ["--application", LocalPlatform.application, "--kind", kind]
                + (stream.map { ["--stream", $0.description] } ?? []))
        return try #require(printed.output.first)
    }

    // MARK: Clients

    /// Returns a client with a session.
    func client(_ options: PCastOptions? = nil) async throws -> PCast {
        let pcast = PCast(options ?? PCastOptions(uri: platform.uri))
        _ = try await pcast.start(authenticationToken: try authenticationToken)
        return pcast
    }

    /// A published stream with its parts.
    struct Published: Sendable {
        let pcast: PCast
        let media: UserMediaStream
        let publisher: Publisher

        func close() async {
            media.stop()
            await pcast.shutdown()
        }
    }

    /// Publishes a small test pattern with audio, or audio alone.
    func publish(
        by pcast: PCast? = nil, hasSlice: Bool = false, tags: [String] = [], token: String? = nil
    ) async throws -> Published {
        let client: PCast
        if let pcast { client = pcast } else { client = try await self.client() }
        let media = try await client.getUserMedia(
            UserMediaOptions(
                video: hasSlice ? .synthetic : nil, audio: .synthetic,
                dimensions: hasSlice ? Dimensions(width: 320, height: 180) : nil))
        let publisher = try await client.publish(
            streamToken: try token ?? publishingToken, mediaStream: media.mediaStream, tags: tags)
        return Published(pcast: client, media: media, publisher: publisher)
    }

    /// A subscribed stream.
    struct Watched: Sendable {
        let pcast: PCast
        let stream: MediaStream

        func close() async {
            stream.stop()
            await pcast.shutdown()
        }
    }

    func watch(_ stream: StreamID, by pcast: PCast? = nil) async throws -> Watched {
        let client: PCast
        if let pcast { client = pcast } else { client = try await self.client() }
        return Watched(pcast: client, stream: try await client.subscribe(streamToken: try viewingToken(stream)))
    }

    // MARK: The backend

    /// Returns a notification of the backend about a stream.
    func notification(_ what: String, of stream: StreamID) async throws -> JSON {
        let backend = try #require(backend)
        return try await backend.event("notification") { event in
            event["what"].text == what && event["data"]["streamId"].text == stream.description
        }
    }

    /// Ends a stream as the backend does.
    func end(_ stream: StreamID, reason: String) async throws {
        try await platform.end(stream.description, reason: reason)
    }
}

/// Provides a ``SharedPlatform`` to a suite.
struct SharedPlatformTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await TestWorkspace.run { workspace in
            let shared = try await SharedPlatform.start(in: workspace)
            try await SharedPlatform.$shared.withValue(shared) { try await function() }
            #expect(shared.platform.program.isRunning, "the platform outlasts its tests")
        }
    }
}

extension Trait where Self == SharedPlatformTrait {
    static var sharedPlatform: Self { SharedPlatformTrait() }
}
