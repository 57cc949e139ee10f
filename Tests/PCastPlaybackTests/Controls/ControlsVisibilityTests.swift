import PCastCore
import Testing

@testable import PCastPlayback

@Suite("The visibility of a player's controls")
struct ControlsVisibilityTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: 0) + .milliseconds(milliseconds) }

    @Test("controls are initially hidden, a click shows or hides them, and a key shows them")
    func input() {
        var visibility = ControlsVisibility()
        #expect(!visibility.isVisible)
        visibility.click(at: at(0))
        #expect(visibility.isVisible)
        visibility.press(at: at(1))
        #expect(visibility.isVisible)
        visibility.click(at: at(2))
        #expect(!visibility.isVisible)
        visibility.press(at: at(3))
        #expect(visibility.isVisible)
    }

    @Test("controls hide three seconds after the last click or key, but not while the player is paused")
    func timeout() {
        var visibility = ControlsVisibility()
        visibility.press(at: at(0))
        visibility.advance(to: at(60_000))
        #expect(visibility.isVisible && visibility.deadline == nil)
        visibility.setPlaying(true, at: at(60_000))
        #expect(visibility.deadline == at(63_000))
        visibility.press(at: at(62_000))
        visibility.advance(to: at(64_999))
        #expect(visibility.isVisible)
        visibility.advance(to: at(65_000))
        #expect(!visibility.isVisible && visibility.deadline == nil)
        visibility.click(at: at(70_000))
        visibility.setPlaying(false, at: at(71_000))
        visibility.advance(to: at(99_000))
        #expect(visibility.isVisible)
    }
}
