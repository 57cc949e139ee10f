import PCast
import PCastCore

/// A stream that the test watches through the SDK.
struct WatchedStream: Sendable {
    let pcast: PCast
    let stream: MediaStream
    let renderer: Renderer
    /// The frame sizes in their order of arrival.
    let sizes = Awaited<Size>()

    struct Size: Sendable {
        /// The number of sizes before this one.
        let number: Int
        let height: Int
    }

    static func open(_ name: String, of platform: LocalPlatform) async throws -> WatchedStream {
        let pcast = PCast(PCastOptions(uri: platform.uri))
        _ = try await pcast.start(authenticationToken: try await platform.authenticationToken())
        let stream = try await pcast.subscribe(streamToken: try await platform.viewingToken(name))
        let renderer = stream.createRenderer(.nullDevices)
        let watched = WatchedStream(pcast: pcast, stream: stream, renderer: renderer)
        renderer.setVideoDisplayDimensionsChangedCallback { [sizes = watched.sizes] _, size in
            // Only one thread shows frames.
            sizes.add(Size(number: sizes.values.count, height: size.height))
        }
        guard renderer.start() == .ok else { throw EndToEndFailure("the renderer does not start") }
        return watched
    }

    /// Waits for a frame height among the sizes after the first `count`.
    func height(_ height: Int, since count: Int, within limit: Duration = .timeout) async throws {
        let size = await sizes.first(within: limit) { $0.number >= count && $0.height == height }
        guard size != nil else {
            throw EndToEndFailure("no frame of \(height) rows within \(limit): \(sizes.values.map(\.height))")
        }
    }

    func close() async {
        stream.stop()
        await pcast.shutdown()
    }
}
