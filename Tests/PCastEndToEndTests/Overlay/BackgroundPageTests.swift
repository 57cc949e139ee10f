import Foundation
import PCastCore
import PCastOverlay
import PCastPlayback
import PCastRendering
import Testing

extension EndToEnd {
    /// A page that Chromium renders behind the scaled video of a player.
    @Suite(
        "The page behind scaled video", .enabled(if: ThisMachine.hasFFmpeg && ThisMachine.hasChromium),
        .timeLimit(.minutes(5)))
    struct BackgroundPageTests {
        /// The colors at a position of a frame.
        private static func isGreen(_ frame: VideoFrame, x: Int, y: Int) -> Bool {
            let chroma = y / 2 * frame.strideUV + x / 2
            return frame.planeY[y * frame.strideY + x] > 100 && frame.planeU[chroma] < 80 && frame.planeV[chroma] < 80
        }

        /// Whether the strip of the film is at the top of the upper left quarter.
        private static func hasStrip(_ frame: VideoFrame) -> Bool {
            let cells = (0..<frame.dimensions.width / 2).map { frame.planeY[4 * frame.strideY + $0] }
            return cells.contains { $0 > 200 } && cells.contains { $0 < 40 }
        }

        /// Waits for a frame on a surface.
        private static func frame(
            on surface: MemorySurface, where matches: (VideoFrame) -> Bool
        ) async throws -> VideoFrame? {
            let deadline = ContinuousClock.now + .timeout
            while ContinuousClock.now < deadline {
                if let frame = surface.frame, matches(frame) { return frame }
                try await ContinuousClock().sleep(for: .milliseconds(10))
            }
            return surface.frame
        }

        @Test("a scaled frame is drawn over the page, a full one covers it, and without the page it is on black")
        func background() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await StampedRecording.make("film.mp4", seconds: 6, in: workspace)
                let path = workspace.path("background.html")
                try "<!doctype html><body style='background: #00ff00'>".write(
                    toFile: path, atomically: true, encoding: .utf8)
                let surface = MemorySurface()
                let player = Player(.media(playsAudio: false, shownOn: surface))
                player.loop = true
                player.set(video: Video(film.path), play: true)
                let page = try await RenderedPage.open("file://\(path)", behind: player, isSandboxed: geteuid() != 0)
                player.setVideoScale(VideoScale(scaleX: 0.5, scaleY: 0.5, pivotX: 0, pivotY: 0, duration: 0))
                func areGreen(_ frame: VideoFrame) -> Bool {
                    let (width, height) = (frame.dimensions.width, frame.dimensions.height)
                    return [(width * 3 / 4, height / 4), (width / 4, height * 3 / 4), (width * 3 / 4, height * 3 / 4)]
                        .allSatisfy { Self.isGreen(frame, x: $0.0, y: $0.1) }
                }
                let scaled = try #require(
                    try await Self.frame(on: surface) { areGreen($0) && Self.hasStrip($0) })
                #expect(areGreen(scaled) && Self.hasStrip(scaled))
                // A screenshot has the page, too.
                let seen = try #require(player.displayedFrame)
                #expect(areGreen(seen))

                player.setVideoScale(.full)
                let full = try #require(try await Self.frame(on: surface) { !areGreen($0) })
                #expect(!areGreen(full))
                player.setVideoScale(VideoScale(scaleX: 0.5, scaleY: 0.5, pivotX: 0, pivotY: 0, duration: 0))
                await page.close()
                let isBlack: (VideoFrame) -> Bool = { frame in
                    frame.planeY[frame.dimensions.height * 3 / 4 * frame.strideY + frame.dimensions.width * 3 / 4] == 16
                }
                let bare = try #require(
                    try await Self.frame(on: surface) { isBlack($0) && Self.hasStrip($0) })
                #expect(isBlack(bare) && Self.hasStrip(bare))
                player.reset()
                await player.settled()
            }
        }
    }
}
