import PCastCore
import PCastRTP
import Testing

@testable import PCastWebRTC

/// A stream whose receiver requests pauses, by the states of RFC 7728, section 6.
struct ConnectionPauseStateTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let roundTrip = TimeSpan.milliseconds(40)

    private func at(_ milliseconds: Int64) -> Instant { Self.start + .milliseconds(milliseconds) }

    private func state(holdsOff: Bool = false) -> PauseState {
        PauseState(type: .video, ssrc: 7, holdsOff: holdsOff)
    }

    private func ask(
        _ state: inout PauseState, _ kind: PauseResume.Kind, _ pauseID: UInt16, from sender: UInt32 = 9,
        at now: Instant = start
    ) {
        let message = PauseResume.Message(ssrc: 7, kind: kind, pauseID: pauseID)
        state.receive(message, from: sender, roundTrip: Self.roundTrip, at: now)
    }

    private func said(
        _ state: inout PauseState, last: UInt32 = 50, hasReport: Bool = false, at now: Instant = start
    ) -> [PauseResume.Message] {
        var messages: [PauseResume.Message] = []
        while let message = state.poll(lastSequenceNumber: last, hasReport: hasReport, at: now) {
            messages.append(message)
        }
        return messages
    }

    private func paused(_ pauseID: UInt16, last: UInt32 = 50) -> PauseResume.Message {
        PauseResume.Message(ssrc: 7, kind: .paused(lastSequenceNumber: last), pauseID: pauseID)
    }

    private func refused(_ pauseID: UInt16) -> PauseResume.Message {
        PauseResume.Message(ssrc: 7, kind: .refused, pauseID: pauseID)
    }

    @Test("a stream pauses at once and reports its last number, and resumes; each pause has the next number")
    func pausesAndResumes() {
        var state = state()
        for pauseID in UInt16(0)..<3 {
            ask(&state, .pause, pauseID)
            #expect(state.isPaused)
            #expect(said(&state) == [paused(pauseID)])
            ask(&state, .resume, pauseID)
            #expect(!state.isPaused && state.deadline == nil)
            #expect(said(&state).isEmpty)
        }
    }

    @Test("repeated requests have no effect, and requests from before a pause's end do not restore it")
    func repeated() {
        var state = state()
        ask(&state, .pause, 0)
        _ = said(&state)
        ask(&state, .pause, 0)
        #expect(said(&state).isEmpty)
        ask(&state, .resume, 0)
        ask(&state, .resume, 0)
        #expect(!state.isPaused && said(&state).isEmpty)
        // The request to resume overtook it.
        ask(&state, .pause, 0)
        #expect(!state.isPaused)
        #expect(said(&state) == [refused(1)])
    }

    @Test("a request with another number is refused with the right one: at once, then as often as reports")
    func refuses() {
        var state = state()
        ask(&state, .pause, 5)
        ask(&state, .pause, 5)
        #expect(said(&state) == [refused(0)])
        ask(&state, .pause, 5, at: at(100))
        #expect(said(&state, at: at(100)).isEmpty)
        #expect(state.deadline == at(1000))
        #expect(said(&state, at: at(1000)) == [refused(0)])
        ask(&state, .pause, 0, at: at(1100))
        _ = said(&state, at: at(1100))
        ask(&state, .resume, 1, at: at(2200))
        #expect(state.isPaused)
        #expect(said(&state, at: at(2200)).contains(refused(0)))
    }

    @Test("while it plays, old requests to resume are ignored, and others refused")
    func resumeWhilePlaying() {
        var state = state()
        ask(&state, .pause, 0)
        ask(&state, .resume, 0)
        for past in [0, 1, 0xFFFF, 0x8001] as [UInt16] {
            ask(&state, .resume, past)
            #expect(said(&state).isEmpty, "\(past)")
        }
        ask(&state, .resume, 2)
        #expect(said(&state) == [refused(1)])
    }

    @Test("a pause is reported every second, with a report if one is sent")
    func reportedEachSecond() {
        var state = state()
        ask(&state, .pause, 0)
        #expect(said(&state) == [paused(0)])
        #expect(state.deadline == at(1000))
        #expect(said(&state, hasReport: true, at: at(300)).isEmpty)
        #expect(said(&state, hasReport: true, at: at(700)) == [paused(0)])
        #expect(said(&state, at: at(1000)).isEmpty)
        #expect(said(&state, at: at(1700)) == [paused(0)])
    }

    @Test("if others can object it waits for two round trips, and an objection uses the number")
    func holdsOff() {
        var state = state(holdsOff: true)
        ask(&state, .pause, 0)
        #expect(!state.isPaused && state.deadline == at(80))
        ask(&state, .resume, 0, from: 10, at: at(50))
        state.advance(to: at(80))
        #expect(!state.isPaused && state.deadline == nil)
        ask(&state, .pause, 1, at: at(100))
        state.advance(to: at(179))
        #expect(!state.isPaused)
        state.advance(to: at(180))
        #expect(state.isPaused)
        #expect(said(&state, at: at(180)) == [paused(1)])
    }

    @Test("it resumes when the requester of the pause leaves, and not when another leaves")
    func goodbye() {
        var state = state()
        ask(&state, .pause, 0, from: 9)
        state.goodbyeReceived(from: 8)
        #expect(state.isPaused)
        state.goodbyeReceived(from: 9)
        #expect(!state.isPaused)
        ask(&state, .pause, 1)
        #expect(state.isPaused)
    }

    @Test("the numbers wrap")
    func wraps() {
        var state = state()
        for pauseID in 0...UInt16.max {
            ask(&state, .pause, pauseID)
            ask(&state, .resume, pauseID)
        }
        ask(&state, .resume, .max)
        #expect(said(&state).isEmpty)
        ask(&state, .pause, 0)
        #expect(state.isPaused)
    }
}
