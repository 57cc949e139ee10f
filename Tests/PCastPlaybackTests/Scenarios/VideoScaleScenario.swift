import PCastCore
import PCastOverlay
import PCastRendering
import Synchronization
import Testing

@testable import PCastPlayback

/// A screen that finds the frame on black.
private final class FrameScreen: UnseenSurface {
    struct Sight: Sendable, Equatable {
        var left: Int
        var top: Int
        var width: Int
        var height: Int
    }

    private let all = Mutex<[Sight]>([])
    private let changes: ChangeSignal

    init(_ changes: ChangeSignal) { self.changes = changes }

    var sights: [Sight] { all.withLock { $0 } }

    func show(_ frame: VideoFrame) {
        let (columns, rows) = (frame.dimensions.width, frame.dimensions.height)
        var (left, right, top, bottom) = (columns, -1, rows, -1)
        // The luma of frames is at least 40, and that of black is 16.
        for row in 0..<rows {
            for column in 0..<columns where frame.planeY[row * frame.strideY + column] > 28 {
                (left, right) = (min(left, column), max(right, column))
                (top, bottom) = (min(top, row), max(bottom, row))
            }
        }
        all.withLock { $0.append(Sight(left: left, top: top, width: right - left + 1, height: bottom - top + 1)) }
        changes.raise()
    }
}

extension RealTimePlayback {
    /// The scaling of the video for an overlay, checked by the displayed frames.
    @Suite("The video makes room for an overlay", .enabled(if: Program.hasFFmpeg))
    struct VideoScaleScenario {
        @Test("the video moves smoothly to its corner and back, both playing and paused", .timeLimit(.minutes(5)))
        func squeeze() async throws {
            let origin = try TestOrigin(serving: StampedVideo(seconds: 6), segmentSeconds: 2)
            defer { origin.stop() }
            let changes = ChangeSignal()
            let screen = FrameScreen(changes)
            let player = Player(.media(playsAudio: false, shownOn: screen))
            player.loop = true
            let events = player.events()
            let received = Exclusive<[VideoScale]>([])
            let following = Task {
                for await event in events {
                    if case .videoScaleChanged(let scale) = event.kind { received.change { $0.append(scale) } }
                    changes.raise()
                }
            }
            func wait(until isSo: () -> Bool) async throws {
                while true {
                    let count = changes.count
                    if isSo() { return }
                    try Task.checkCancellation()
                    await changes.wait(since: count)
                }
            }
            func isNear(_ sight: FrameScreen.Sight?, _ wanted: FrameScreen.Sight) -> Bool {
                guard let sight else { return false }
                return abs(sight.left - wanted.left) <= 2 && abs(sight.top - wanted.top) <= 10
                    && abs(sight.width - wanted.width) <= 2 && abs(sight.height - wanted.height) <= 10
            }
            let (whole, corner) = (
                FrameScreen.Sight(left: 0, top: 0, width: 320, height: 180),
                FrameScreen.Sight(left: 160, top: 0, width: 160, height: 90)
            )
            player.set(video: Video(origin.uri("/s.m3u8")), play: true)
            try await wait { screen.sights.count > 5 }
            #expect(isNear(screen.sights.last, whole))

            let half = VideoScale(scaleX: 0.5, scaleY: 0.5, pivotX: 1, pivotY: 0, duration: 300)
            let before = screen.sights.count
            #expect(player.setVideoScale(half) && player.videoScale == half)
            try await wait { isNear(screen.sights.last, corner) }
            try await wait { received.change { $0 } == [half] }
            let way = screen.sights.dropFirst(before)
            // It moves to the corner on the right without turning back.
            #expect(zip(way, way.dropFirst()).allSatisfy { $0.width >= $1.width && $0.left <= $1.left }, "\(way)")

            // It moves even if no other frame is shown.
            player.pause()
            await player.settled()
            let standing = screen.sights.count
            // It moves so slowly at first that a busy machine shows intermediate values too, and then faster.
            #expect(player.setVideoScale(VideoScale(scaleX: 1, scaleY: 1, duration: 30_000)))
            try await wait { screen.sights.dropFirst(standing).contains { (165..<316).contains($0.width) } }
            #expect(player.setVideoScale(VideoScale(scaleX: 1, scaleY: 1, duration: 300)))
            try await wait { isNear(screen.sights.last, whole) && screen.sights.count > standing }
            let back = screen.sights.dropFirst(standing)
            #expect(zip(back, back.dropFirst()).allSatisfy { $0.width <= $1.width && $0.left >= $1.left }, "\(back)")
            // A change without duration, a scale of zero and an invalid scale.
            #expect(player.setVideoScale(VideoScale(scaleX: 0, scaleY: 0)))
            try await wait { (screen.sights.last?.width ?? 1) <= 0 }
            #expect(!player.setVideoScale(VideoScale(scaleX: 1.5, scaleY: 1)))
            player.reset()
            await player.settled()
            following.cancel()
        }
    }
}
