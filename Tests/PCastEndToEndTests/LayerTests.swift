import Foundation
import PCast
import PCastCore
import Testing

extension EndToEnd {
    /// Publishers with several layers, and viewers that receive one of them.
    @Suite("Layers")
    struct LayerTests {
        @Test(
            "with a capability pcast publishes three layers, a viewer's limit selects one, and the others are paused",
            .timeLimit(.minutes(5)))
        func contribution() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let token = try await workspace.token(
                    LocalPlatform.application, "--type", "publish", "--capability", "multi-bitrate-contribution")
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--token", try await platform.authenticationToken(), "--token",
                    token, "--video", "synthetic", "--audio", "synthetic")
                let name = try #require(try await publisher.event("publishing")["streamId"].text)
                let viewer = try await WatchedStream.open(name, of: platform)
                try await viewer.height(720, since: 0)
                try await Self.check(viewer)
                // The two layers without viewers are paused after two seconds.
                let rests = await publisher.output.lines.first { line in
                    JSON(line: line)?["layersEncoded"] == .number(1)
                }
                #expect(rests != nil)
                publisher.send(SIGINT)
                try await publisher.expectExitStatus(0)
                await viewer.close()
            }
        }

        /// Limits the viewer's track, removes the limit, and waits for the respective frame sizes.
        private static func check(_ viewer: WatchedStream) async throws {
            let track = try #require(viewer.stream.videoTracks.first)
            var count = viewer.sizes.values.count
            var lowest: BandwidthLimit? = track.limitBandwidth(.kilobits(100))
            try await viewer.height(180, since: count)
            count = viewer.sizes.values.count
            #expect(lowest?.bitrate == .kilobits(100))
            lowest = nil
            try await viewer.height(720, since: count)
        }

        @Test(
            "a browser's simulcast is accepted by RID, and a viewer receives the layer that its limit allows",
            .enabled(if: ThisMachine.hasChromium), .timeLimit(.minutes(5)), arguments: ["H264", "VP8"])
        func simulcast(codec: String) async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let browser = try Peer(
                    "publish_chromium.py", ["\(platform.uri)/publish?layers=3", "--codec", codec, "--until-told"],
                    in: nil, of: workspace, seconds: 3, hears: true)
                let viewer = try await WatchedStream.open(try await platform.stream(), of: platform)
                // A browser needs some seconds to reach the bit rate of its best layer.
                try await viewer.height(720, since: 0)
                try await Self.check(viewer)
                await viewer.close()
                try browser.program.notify("enough")
                let figures = try await browser.figures()
                #expect(figures["videoCodec"].text == "video/\(codec)")
            }
        }

        @Test(
            "a browser's simulcast reaches viewers on another shard after its packets no longer have a RID",
            .enabled(if: ThisMachine.hasChromium), .timeLimit(.minutes(5)))
        func replica() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace, ["--shards", "2"])
                let browser = try Peer(
                    "publish_chromium.py", ["\(platform.uri)/publish?layers=3", "--codec", "VP8", "--until-told"],
                    in: nil, of: workspace, seconds: 3, hears: true)
                let stream = try await platform.stream()
                let first = try await WatchedStream.open(stream, of: platform)
                try await first.height(720, since: 0)
                // The publisher's shard serves at most a few dozen viewers.
                let viewers = try await platform.startLightViewers(60, of: stream)
                try await viewers.end(by: SIGINT)
                await first.close()
                try browser.program.notify("enough")
                _ = try await browser.figures()
            }
        }
    }
}
