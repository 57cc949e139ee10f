import Foundation
import PCast
import PCastCore
import Testing

extension EndToEnd {
    @Suite("A URI as a source", .enabled(if: ThisMachine.hasFFmpeg, "left out: ffmpeg is not installed"))
    struct URISourceTests {
        @Test(
            "Uri source, used to stream from uri: a deviceId that is a URI is published, and viewers see its frames",
            .timeLimit(.minutes(5)), arguments: [DeviceConstraint.Kind.ideal, .exact])
        func published(_ kind: DeviceConstraint.Kind) async throws {
            try await TestWorkspace.run { workspace in
                let programme = try await StampedProgramme.make(in: workspace)
                let platform = try await LocalPlatform.start(in: workspace)
                let pcast = PCast(PCastOptions(uri: platform.uri))
                _ = try await pcast.start(authenticationToken: try await platform.authenticationToken())
                var options = UserMediaOptions()
                let constraint = DeviceConstraint(.text(programme.address), kind: kind)
                options.video.capabilityConstraints[.deviceID] = [constraint]
                options.audio.capabilityConstraints[.deviceID] = [constraint]
                let media = try await pcast.getUserMedia(options)
                #expect(media.unmet.isEmpty && media.mediaStream.tracks.count == 2)
                let publisher = try await pcast.publish(
                    streamToken: try await platform.publishingToken(), mediaStream: media.mediaStream)
                let watched = try await WatchedStream.open("\(publisher.streamID)", of: platform)
                try await watched.height(StampedProgramme.size.height, since: 0)
                let frame = try #require(watched.renderer.lastVideoFrameRendered)
                #expect(TestPatternStrip.read(frame) != nil)
                await watched.close()
                media.stop()
                await pcast.shutdown()
                try await platform.program.end()
            }
        }
    }
}
