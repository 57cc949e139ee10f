import Foundation
import PCast
import PCastCore
import PCastPlayback
import Testing

extension EndToEnd {
    /// Viewers of the SDK whose token has the capability `streaming`.
    @Suite("HLS viewers", .timeLimit(.minutes(5)))
    struct HLSViewerTests {
        /// The number of frames after which a stream counts as played.
        private static let frameCount = 90

        /// A viewer and the renderer of its stream.
        private struct Viewer {
            let pcast: PCast
            let stream: MediaStream
            let renderer: Renderer

            /// Subscribes to the stream of a platform with the capability `capability`, and renders it.
            static func open(
                _ live: HLSTests.Live, _ capability: String = "streaming", mapping: StreamingSourceMapping? = nil
            ) async throws -> Viewer {
                let pcast = try await client(
                    live,
                    PCastOptions(uri: live.platform.uri, streamingSourceMapping: mapping, streamingClient: .hls))
                let stream = try await pcast.subscribe(streamToken: try await token(live, capability))
                let renderer = stream.createRenderer(.nullDevices)
                try renderer.start()
                return Viewer(pcast: pcast, stream: stream, renderer: renderer)
            }

            /// Returns a client with a session when the stream is packaged.
            static func client(_ live: HLSTests.Live, _ options: PCastOptions) async throws -> PCast {
                _ = try await live.platform.program.message(containing: "stream is packaged")
                let pcast = PCast(options)
                _ = try await pcast.start(authenticationToken: try await live.platform.authenticationToken())
                return pcast
            }

            static func token(_ live: HLSTests.Live, _ capability: String) async throws -> String {
                try await live.platform.workspace.token(
                    LocalPlatform.application, "--type", "stream", "--stream", live.stream, "--capability", capability)
            }

            /// Waits until a number of frames were shown. Returns the statistics then.
            func played() async throws -> ViewerStatistics {
                for await figures in renderer.statistics where figures.framesRendered >= HLSViewerTests.frameCount {
                    return figures
                }
                throw EndToEndFailure("the stream ended: \(stream.endedInfo?.reasonDescription ?? "")")
            }

            func close() async {
                stream.stop()
                await pcast.shutdown()
            }
        }

        @Test(
            "subscribe with the capability returns a stream whose renderer plays it by HLS until it ends",
            arguments: ["streaming", "streaming-lite"])
        func subscription(capability: String) async throws {
            try await TestWorkspace.run { workspace in
                let live = try await HLSTests.Live.start(in: workspace)
                let viewer = try await Viewer.open(live, capability)
                let figures = try await viewer.played()
                #expect(viewer.renderer.videoDisplayDimensions == Dimensions(width: 640, height: 360))
                #expect(viewer.renderer.lastVideoFrameRendered != nil)
                // The test pattern contains the capture time.
                let latency = try #require(figures.latencyP50)
                #expect(latency > .zero)
                print("HLS by the SDK: \(latency) from capture to presentation")
                // There is no media connection.
                #expect(await viewer.stream.getStats().inbound.isEmpty)
                live.publisher.send(SIGINT)
                #expect(await viewer.stream.ended.reason == .ended)
                await viewer.close()
                try await live.platform.program.end()
            }
        }

        @Test("captions of the publisher are shown in their order, and none is repeated")
        func captions() async throws {
            try await TestWorkspace.run { workspace in
                let file = workspace.path("captions.vtt")
                // One of 600 ms each second.
                let cues = (0..<250).map { second in
                    let time = String(format: "%02d:%02d", second / 60, second % 60)
                    return "\(time).000 --> \(time).600\ncue \(second) <b>\n"
                }
                let escaped = cues.joined(separator: "\n").replacingOccurrences(of: "<", with: "&lt;")
                try "WEBVTT\n\n\(escaped)".write(toFile: file, atomically: true, encoding: .utf8)
                let live = try await HLSTests.Live.start(in: workspace, captions: file)
                _ = try await live.publisher.event("caption")
                let viewer = try await Viewer.open(live)
                var shown: [Int] = []
                for await text in viewer.renderer.caption.values {
                    guard let text else { continue }
                    let words = text.split(separator: " ")
                    #expect(words.first == "cue" && words.last == "<b>", "\(text)")
                    shown.append(try #require(Int(words[1])))
                    if shown.count == 5 { break }
                }
                // A busy publisher leaves out captions whose time has passed, and a busy viewer may not display one.
                try #require(shown.count == 5, "the stream ended")
                #expect(zip(shown, shown.dropFirst()).allSatisfy { $0 < $1 }, "\(shown)")
                await viewer.close()
                try await live.end()
            }
        }

        @Test("a stream by HLS ends when it is stopped, and is neither recorded nor published")
        func stop() async throws {
            try await TestWorkspace.run { workspace in
                let live = try await HLSTests.Live.start(in: workspace)
                let viewer = try await Viewer.open(live)
                _ = try await viewer.played()
                #expect(throws: PCastError.self) { _ = try viewer.stream.record(to: workspace.path("film.mp4")) }
                await #expect(throws: PCastError.self) {
                    _ = try await viewer.pcast.publish(mediaStream: viewer.stream)
                }
                viewer.stream.stop()
                #expect(await viewer.stream.ended.ender == .stop)
                await viewer.close()
                try await live.end()
            }
        }

        @Test("a client without HLS receives an error that says what is missing")
        func withoutClient() async throws {
            try await TestWorkspace.run { workspace in
                let live = try await HLSTests.Live.start(in: workspace)
                let pcast = try await Viewer.client(live, PCastOptions(uri: live.platform.uri))
                let token = try await Viewer.token(live, "streaming")
                let failure = await #expect(throws: PCastError.self) {
                    _ = try await pcast.subscribe(streamToken: token)
                }
                #expect(failure?.status == .badRequest && failure?.description.contains("PCastPlayback") == true)
                await pcast.shutdown()
                try await live.end()
            }
        }

        @Test(
            "a content delivery network delivers the stream at the address of the source mapping, each file once",
            .enabled(if: ThisMachine.nginx != nil))
        func deliveryNetwork() async throws {
            try await TestWorkspace.run { workspace in
                let live = try await HLSTests.Live.start(in: workspace)
                let proxy = try await CachingProxy.start(try #require(ThisMachine.nginx), before: live.platform)
                let mapping = try StreamingSourceMapping(
                    patternToReplace: NSRegularExpression.escapedPattern(for: live.platform.uri + "/video"),
                    replacement: proxy.uri + "/video")
                let viewers = [
                    try await Viewer.open(live, mapping: mapping), try await Viewer.open(live, mapping: mapping),
                ]
                for viewer in viewers { _ = try await viewer.played() }
                for viewer in viewers { await viewer.close() }
                try await live.end()
                try await proxy.end()
                let requests = proxy.requests
                let media = requests.filter { $0.path.hasSuffix(".m4s") && $0.status == 200 }
                #expect(media.contains { $0.cache == "HIT" })
                let loads = Dictionary(grouping: media.filter { $0.cache == "MISS" }, by: \.path).mapValues(\.count)
                #expect(!loads.isEmpty)
                let repeated = loads.keys.filter { loads[$0] != 1 }
                #expect(repeated.isEmpty, "\(requests.filter { repeated.contains($0.path) })")
                print("cache: \(loads.count) files for \(media.count) requests, \(requests.count) with playlists")
            }
        }
    }
}
