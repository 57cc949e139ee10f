import PCastPlayback
import PCastTestSupport
import Testing

@Suite("The life cycle of a session")
struct SessionLifecycleTests {
    /// Performs steps and returns their events, with the states after each.
    private final class Session {
        private(set) var lifecycle = SessionLifecycle()
        private(set) var events: [LifecycleEvent] = []

        init() { collect() }

        func callAsFunction(_ step: (inout SessionLifecycle) -> Void) -> [LifecycleEvent] {
            step(&lifecycle)
            return collect()
        }

        @discardableResult
        private func collect() -> [LifecycleEvent] {
            var new: [LifecycleEvent] = []
            while let event = lifecycle.poll() { new.append(event) }
            events += new
            return new
        }

        var state: PlayerState { lifecycle.playerState }
        var overlay: OverlayPlayerState { lifecycle.overlayState }
    }

    @Test("overlays receive a stopped session as stopped until it seeks, plays, or resumes to play")
    func stopped() {
        func ready() -> SessionLifecycle {
            var lifecycle = SessionLifecycle()
            lifecycle.play()
            lifecycle.bufferFilled()
            lifecycle.stop()
            return lifecycle
        }
        var lifecycle = ready()
        #expect(lifecycle.overlayState == .stopped && lifecycle.playerState == .paused(buffering: false))
        lifecycle.pause()
        #expect(lifecycle.overlayState == .stopped)
        lifecycle.play()
        #expect(lifecycle.overlayState == .playing)
        lifecycle = ready()
        lifecycle.seek()
        #expect(lifecycle.overlayState == .seeking)
        for isPlaying in [true, false] {
            lifecycle = ready()
            lifecycle.failed("the media is gone")
            let isResuming = lifecycle.resume(playing: isPlaying)
            #expect(isResuming)
            lifecycle.bufferFilled()
            #expect(lifecycle.overlayState == (isPlaying ? .playing : .stopped))
        }
    }

    @Test("an item is loaded, played, paused and played to its end")
    func whole() {
        let session = Session()
        #expect(session.events == [.bufferEmpty])
        #expect(session.state == .paused(buffering: true) && session.overlay == .paused)
        #expect(session { $0.bufferFilled() } == [.ready, .likelyToKeepUp])
        #expect(session.state == .paused(buffering: false) && session.overlay == .paused)
        #expect(session { $0.play() } == [.playRequest, .play])
        #expect(session.state.isPlaying && session.overlay == .playing)
        #expect(session { $0.play() } == [.playRequest])
        #expect(session { $0.pause() } == [.pauseRequest, .pause] && session.overlay == .paused)
        #expect(session { $0.pause() } == [.pauseRequest])
        _ = session { $0.play() }
        #expect(session { $0.ended() } == [.end] && session.overlay == .stopped)
        // A repeated end is not reported again.
        #expect(session { $0.ended() }.isEmpty && session.lifecycle.hasEnded)
        #expect(session { $0.terminate() } == [.terminate] && session.state == .idle)
        #expect(
            session {
                $0.terminate(); $0.play(); $0.bufferEmptied(); $0.failed("x")
            }.isEmpty)
    }

    @Test("an item that is set to play before it is ready plays as soon as it is")
    func autoPlay() {
        let session = Session()
        #expect(session { $0.play() } == [.playRequest, .play])
        #expect(session.state == .playing(buffering: true) && session.overlay == .buffering && !session.state.isPlaying)
        #expect(session { $0.bufferFilled() } == [.ready, .likelyToKeepUp] && session.state.isPlaying)
    }

    @Test("only advancing frames can stall, and the buffer is also empty after a seek")
    func stalls() {
        let session = Session()
        _ = session {
            $0.play(); $0.bufferFilled()
        }
        #expect(session { $0.bufferEmptied() } == [.bufferEmpty, .stalled] && session.overlay == .buffering)
        #expect(session { $0.bufferEmptied() }.isEmpty)
        #expect(session { $0.bufferFilled() } == [.likelyToKeepUp, .recovered] && session.overlay == .playing)
        #expect(session { $0.seek() } == [.bufferEmpty] && session.overlay == .seeking)
        #expect(session.state == .playing(buffering: true))
        #expect(session { $0.seek() }.isEmpty)
        #expect(session { $0.bufferFilled() } == [.likelyToKeepUp] && session.overlay == .playing)
        _ = session { $0.pause() }
        #expect(session { $0.bufferEmptied() } == [.bufferEmpty] && session.state == .paused(buffering: true))
        #expect(session { $0.bufferFilled() } == [.likelyToKeepUp])
    }

    @Test("a seek leaves the end, where playback does not start by itself")
    func afterEnd() {
        let session = Session()
        _ = session {
            $0.play(); $0.bufferFilled(); $0.ended()
        }
        #expect(session { $0.bufferEmptied() }.isEmpty)
        _ = session { $0.seek() }
        #expect(session.overlay == .seeking && session.state == .paused(buffering: true))
        // A player that reaches the end while it seeks has not ended here.
        #expect(session { $0.ended() }.isEmpty)
        _ = session {
            $0.bufferFilled(); $0.play()
        }
        #expect(session.overlay == .playing)
        #expect(session { $0.ended() } == [.end])
    }

    @Test("there is no seek before the item is ready")
    func early() {
        var lifecycle = SessionLifecycle()
        let may = lifecycle.seek()
        #expect(!may && lifecycle.overlayState == .paused)
    }

    @Test("a failure before the item is ready is final, and playback can resume after a later one")
    func failures() {
        let never = Session()
        #expect(never { $0.failed("404") } == [.fail(.loadFailed("404"))] && never.state == .idle)
        let none = Session()
        #expect(none { $0.failed("", noPlayableSource: true) } == [.fail(.noPlayableSource)])

        let session = Session()
        _ = session {
            $0.play(); $0.bufferFilled(); $0.bufferEmptied()
        }
        #expect(session { $0.failed("gone") } == [.failedToPlayToEndTime(.failedToPlayToEnd("gone"))])
        #expect(session.state == .idle && session.overlay == .stopped)
        #expect(
            session {
                $0.bufferFilled(); $0.play(); $0.seek()
            }.isEmpty)
        #expect(session { $0.resume(playing: true) } == [.resumeBegin, .bufferEmpty])
        #expect(session.state == .playing(buffering: true))
        // It cannot be resumed while resuming is in progress.
        #expect(session { $0.resume(playing: true) }.isEmpty)
        #expect(session { $0.failed("still") } == [.resumeFail(.loadFailed("still"))])
        #expect(session { $0.resume(playing: false) } == [.resumeBegin, .bufferEmpty, .pause])
        #expect(session { $0.bufferFilled() } == [.resumeComplete, .likelyToKeepUp])
        #expect(session.state == .paused(buffering: false))
    }

    @Test(
        "in any order of steps each event has its counterpart and nothing follows the end", arguments: UInt64(1)...50)
    func order(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let session = Session()
        for _ in 0..<200 {
            let step = Int.random(in: 0..<40, using: &generator)
            _ = session {
                switch step {
                case 0..<8: $0.play()
                case 8..<14: $0.pause()
                case 14..<22: $0.bufferEmptied()
                case 22..<30: $0.bufferFilled()
                case 30..<34: $0.seek()
                case 34..<36: $0.ended()
                case 36: $0.failed("x")
                default: $0.resume(playing: step == 38)
                }
            }
            if session.state == .idle { #expect(session.overlay == .stopped) }
            if session.overlay == .playing { #expect(session.state.isPlaying) }
        }
        _ = session { $0.terminate() }
        let events = session.events
        #expect(events.count { $0 == .ready } <= 1 && events.last == .terminate)
        func alternate(_ first: LifecycleEvent, _ second: LifecycleEvent, resetBy isReset: (LifecycleEvent) -> Bool) {
            var isOpen = false
            for event in events {
                if isReset(event) { isOpen = false }
                if event == first {
                    #expect(!isOpen, "\(first) twice")
                    isOpen = true
                } else if event == second {
                    #expect(isOpen, "\(second) without \(first)")
                    isOpen = false
                }
            }
        }
        let isFailure: (LifecycleEvent) -> Bool = {
            switch $0 {
            case .fail, .failedToPlayToEndTime, .resumeFail, .end: true
            default: false
            }
        }
        alternate(.stalled, .recovered, resetBy: isFailure)
        alternate(.bufferEmpty, .likelyToKeepUp, resetBy: isFailure)
        alternate(.resumeBegin, .resumeComplete, resetBy: isFailure)
    }
}
