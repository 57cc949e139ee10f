import PCastCore
import PCastOverlay
import Testing

@Suite("The position of the video")
struct VideoScaleTests {
    @Test("the pivot is the point that stays")
    func pivot() {
        let scale = VideoScale(scaleX: 0.5, scaleY: 0.25, pivotX: 1, pivotY: 0)
        #expect(scale.frame == VideoScaleFrame(x: 0.5, y: 0, width: 0.5, height: 0.25))
        #expect(
            VideoScale(scaleX: 0.5, scaleY: 0.5).frame == VideoScaleFrame(x: 0.25, y: 0.25, width: 0.5, height: 0.5))
        #expect(VideoScale.full.frame == .full)
        for wrong in [
            VideoScale(scaleX: -0.1, scaleY: 1), VideoScale(scaleX: .nan, scaleY: 1),
            VideoScale(scaleX: 1, scaleY: 1, pivotX: 2), VideoScale(scaleX: 1, scaleY: 1, duration: -1),
        ] { #expect(!wrong.isValid) }
    }

    @Test("the video moves in its time, never back, and from its current position when redirected")
    func animation() {
        let start = Instant(nanoseconds: 1_000)
        var animation = VideoScaleAnimation()
        #expect(animation.frame(at: start) == .full && animation.isOver(at: start))
        animation.begin(VideoScale(scaleX: 0.5, scaleY: 0.5, pivotX: 1, pivotY: 0, duration: 300), at: start)
        let way = (0...30).map { animation.frame(at: start + .milliseconds(Int64($0 * 10))) }
        #expect(way.first == .full && way.last == VideoScaleFrame(x: 0.5, y: 0, width: 0.5, height: 0.5))
        #expect(zip(way, way.dropFirst()).allSatisfy { $0.width >= $1.width && $0.x <= $1.x && $1.y == 0 })
        #expect(abs(way[15].width - 0.75) < 1e-9)
        // The right edge does not move.
        #expect(way.allSatisfy { abs($0.x + $0.width - 1) < 1e-9 })
        let turn = start + .milliseconds(150)
        animation.begin(VideoScale(scaleX: 1, scaleY: 1, duration: 100), at: turn)
        #expect(abs(animation.frame(at: turn).width - 0.75) < 1e-9)
        #expect(
            animation.frame(at: turn + .milliseconds(100)) == .full && animation.isOver(at: turn + .milliseconds(100)))
        animation.begin(VideoScale(scaleX: 0, scaleY: 0), at: turn)
        #expect(animation.frame(at: turn).width == 0)
    }
}
