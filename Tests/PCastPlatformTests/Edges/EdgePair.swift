import NIOCore
import PCastCore
import PCastHLS
import PCastIO
import PCastWeb
import Testing

@testable import PCastPlatform

/// Functions for tests of HLS at edges.
enum EdgePair {
    static let secret = "a secret of the nodes"

    /// Returns a stream with a number of layers and six seconds of media.
    static func live(layers: Int = 1) throws -> PackagedRun {
        var run = try PackagedRun(layers: layers)
        try run.send(300)
        return run
    }

    /// Runs a platform that publishes the stream of a run.
    static func origin(
        _ run: PackagedRun, configure: (inout PlatformConfiguration) -> Void = { _ in },
        _ body: (TestPlatform) async throws -> Void
    ) async throws {
        try await TestPlatform.runConfigured(
            configure: {
                $0.edges.secret = secret
                configure(&$0)
            }
        ) { origin in
            try await publish(run, at: origin) { try await body(origin) }
        }
    }

    /// Adds the stream of a run to a platform until `body` has ended.
    static func publish(
        _ run: PackagedRun, at platform: TestPlatform, _ body: () async throws -> Void
    ) async throws {
        let components = try #require(platform.platform.host.components.value)
        let reservation = try components.limiter.reserve(.preview, of: TestPlatform.application.id, from: nil)
        let peer = await components.directory.enter(PackagedRun.id, ["streaming"], reservation)
        _ = components.packaging.reserve(PackagedRun.id, for: peer)
        _ = components.packaging.add(run.stream, of: peer)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        // The SFU does not know the publisher.
        await components.directory.discard(peer)
        try result.get()
    }

    /// Runs an edge of platforms.
    static func edge(
        of origins: [TestPlatform], configure: (inout PlatformConfiguration) -> Void = { _ in },
        _ body: (TestPlatform) async throws -> Void
    ) async throws {
        try await TestPlatform.runConfigured(
            configure: {
                $0.edges.secret = secret
                $0.edges.origins = origins.map(\.uri)
                configure(&$0)
            }, body)
    }

    static func video(of platform: TestPlatform) throws -> EdgeVideo {
        let components = try #require(platform.platform.host.components.value)
        return try #require(components.edges).video
    }

    /// Returns a response as it was sent.
    static func get(
        _ path: String, from platform: TestPlatform, acceptsGzip: Bool = false
    ) async throws -> UpstreamRequests.Response {
        try await UpstreamRequests.get(
            platform.uri + path, acceptsGzip: acceptsGzip, within: .seconds(600), admit: { _ in true })
    }

    static func text(_ path: String, from platform: TestPlatform) async throws -> String {
        String(buffer: try await get(path, from: platform).body)
    }

    /// Returns the path of everything that is signed, which the multivariant playlist of a platform names.
    static func signedPath(
        _ platform: TestPlatform, stream: String = PackagedRun.id.description
    ) async throws -> String {
        let index = try await platform.send("GET", "/video/\(stream)/index.m3u8?audio=opus")
        try #require(index.status == 200, "\(index.body)")
        let uri = try #require(try MultivariantPlaylist(index.body).variants.first?.uri)
        let parts = uri.split(separator: "/")
        if parts.first == ".." { return "/video/\(parts[1])/\(parts[2])" }
        return "/video/\(stream)/\(parts[0])"
    }

    /// Returns the query of the next part of a playlist.
    static func nextPart(_ playlist: MediaPlaylist) -> String {
        "_HLS_msn=\(playlist.nextNumber)&_HLS_part=\(playlist.openSegment?.parts.count ?? 0)"
    }

    /// The files of a playlist with the video or audio.
    static func files(_ playlist: MediaPlaylist) -> [String] {
        let parts = playlist.segments.flatMap { $0.parts.map(\.uri) }
        return Set(playlist.segments.compactMap(\.uri) + parts).sorted()
    }
}
