import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

/// Pause requests of the receiver of a stream without subscribers (RFC 7728, section 8).
struct ConnectionPauseRequestTests {
    private let start = Instant(nanoseconds: 1_000_000_000)
    private let roundTrip = TimeSpan.milliseconds(40)

    private func at(_ milliseconds: Int64) -> Instant { start + .milliseconds(milliseconds) }

    /// Returns the requests within a range of time, polled every millisecond. Packets arrive every 20 ms while
    /// `newest`, which counts them, is not nil.
    private func asked(
        _ request: inout PauseRequest, from first: Int64, to last: Int64, newest: inout UInt16?
    ) -> [(at: Int64, kind: PauseResume.Kind, pauseID: UInt16)] {
        var asked: [(Int64, PauseResume.Kind, UInt16)] = []
        for time in first..<last {
            if let number = newest, time % 20 == 0 {
                request.packetReceived(sequenceNumber: number &+ 1, at: at(time))
                newest = number &+ 1
            }
            if let message = request.poll(ssrc: 7, roundTrip: roundTrip, at: at(time)) {
                #expect(message.ssrc == 7)
                asked.append((time, message.kind, message.pauseID))
            }
        }
        return asked
    }

    private func notify(
        _ request: inout PauseRequest, _ kind: PauseResume.Kind, _ pauseID: UInt16, newest: UInt16?, at time: Int64
    ) {
        let message = PauseResume.Message(ssrc: 7, kind: kind, pauseID: pauseID)
        request.messageReceived(message, newest: newest, at: at(time))
    }

    /// Returns a request of a stream without subscribers. It was paused at `at(2500)` after packet 1000, with number 0.
    private func paused() -> PauseRequest {
        var request = PauseRequest()
        request.setDemanded(false, at: start)
        var newest: UInt16? = 875
        _ = asked(&request, from: 0, to: 2500, newest: &newest)
        notify(&request, .paused(lastSequenceNumber: UInt32(newest!)), 0, newest: newest, at: 2500)
        #expect(newest == 1000 && request.isPaused && request.deadline == nil)
        return request
    }

    @Test("a used stream causes no request, and two seconds without use request a pause")
    func timeout() {
        var request = PauseRequest()
        var newest: UInt16? = 0
        #expect(asked(&request, from: 0, to: 5000, newest: &newest).isEmpty)
        request.setDemanded(false, at: at(5000))
        let first = asked(&request, from: 5000, to: 7050, newest: &newest)
        #expect(first.map(\.at) == [7000] && first[0].kind == .pause && first[0].pauseID == 0)
    }

    @Test("a subscriber that returns within two seconds has no effect")
    func quickReturn() {
        var request = PauseRequest()
        var newest: UInt16? = 0
        _ = asked(&request, from: 0, to: 1000, newest: &newest)
        for leave in stride(from: Int64(1000), to: 20_000, by: 2000) {
            request.setDemanded(false, at: at(leave))
            #expect(asked(&request, from: leave, to: leave + 1999, newest: &newest).isEmpty)
            request.setDemanded(true, at: at(leave + 1999))
        }
        #expect(asked(&request, from: 21_000, to: 30_000, newest: &newest).isEmpty && !request.isPaused)
    }

    @Test("before the first packet nothing is requested, and then the timeout starts")
    func beforeTheFirstPacket() {
        var request = PauseRequest()
        request.setDemanded(false, at: start)
        var nothing: UInt16?
        #expect(asked(&request, from: 0, to: 10_000, newest: &nothing).isEmpty)
        var newest: UInt16? = 3
        #expect(asked(&request, from: 10_000, to: 12_050, newest: &newest).map(\.at) == [12_000])
    }

    @Test("a pause is requested again while packets arrive: every 100 ms at first, then every second")
    func pauseRepeated() {
        var request = PauseRequest()
        request.setDemanded(false, at: start)
        var newest: UInt16? = 0
        let asked = asked(&request, from: 0, to: 10_000, newest: &newest)
        #expect(asked.allSatisfy { $0.kind == .pause && $0.pauseID == 0 })
        #expect(
            asked.map(\.at) == [
                2000, 2100, 2200, 2300, 2400, 2500, 2600, 2700, 2800, 2900, 3000, 4000, 5000, 6000,
                7000, 8000, 9000,
            ])
    }

    @Test("a pause whose indication is lost is not requested again when packets stop")
    func packetsStop() {
        var request = PauseRequest()
        request.setDemanded(false, at: start)
        var newest: UInt16? = 0
        _ = asked(&request, from: 0, to: 2041, newest: &newest)
        var nothing: UInt16?
        #expect(asked(&request, from: 2041, to: 60_000, newest: &nothing).isEmpty && request.isPaused)
        // The source was never paused: the request was lost, and the source was silent.
        #expect(asked(&request, from: 60_000, to: 60_050, newest: &newest).map(\.kind) == [.pause])
    }

    @Test("a resumption is requested at once, then every round trip and 50 ms, then every second until packets arrive")
    func resumeRepeated() {
        var request = paused()
        request.setDemanded(true, at: at(10_000))
        var nothing: UInt16?
        let asked1 = asked(&request, from: 10_000, to: 14_000, newest: &nothing)
        #expect(asked1.allSatisfy { $0.kind == .resume && $0.pauseID == 0 })
        #expect(asked1.prefix(10).map(\.at) == (0..<10).map { 10_000 + 90 * $0 })
        #expect(asked1.dropFirst(10).map(\.at) == [10_900, 11_900, 12_900, 13_900])
        var newest: UInt16? = 1000
        #expect(asked(&request, from: 14_000, to: 20_000, newest: &newest).isEmpty && !request.isPaused)
        request.setDemanded(false, at: at(20_000))
        let asked2 = asked(&request, from: 20_000, to: 22_050, newest: &newest)
        #expect(asked2.map(\.at) == [22_000] && asked2[0].pauseID == 1)
    }

    @Test("a late packet does not end a pause, and a late indication does not start one")
    func reordered() {
        var request = paused()
        request.setDemanded(true, at: at(10_000))
        var late: UInt16? = 990
        #expect(asked(&request, from: 10_000, to: 10_200, newest: &late).count == 3 && late == 1000)
        var newest: UInt16? = 1000
        #expect(asked(&request, from: 10_200, to: 10_400, newest: &newest).count == 0 && !request.isPaused)
        notify(&request, .paused(lastSequenceNumber: 1000), 0, newest: newest, at: 10_400)
        #expect(!request.isPaused && request.deadline == nil)
    }

    @Test("without an indication, packets end a pause only after a round trip")
    func withoutIndication() {
        var request = PauseRequest()
        request.setDemanded(false, at: start)
        var newest: UInt16? = 0
        _ = asked(&request, from: 0, to: 2010, newest: &newest)
        request.setDemanded(true, at: at(2010))
        // The request of 2020, 20 ms after the other, is answered at 2060 at the earliest.
        let again = asked(&request, from: 2010, to: 2060, newest: &newest)
        #expect(again.map(\.at) == [2020] && again[0].kind == .resume && again[0].pauseID == 0)
        #expect(request.isPaused)
        _ = asked(&request, from: 2060, to: 2061, newest: &newest)
        #expect(!request.isPaused)
    }

    @Test("a used stream that reports a pause gets a request to resume, with the reported number")
    func pausedUnasked() {
        var request = PauseRequest()
        var newest: UInt16? = 0
        _ = asked(&request, from: 0, to: 1000, newest: &newest)
        notify(&request, .paused(lastSequenceNumber: UInt32(newest!)), 17, newest: newest, at: 1000)
        var nothing: UInt16?
        let asked1 = asked(&request, from: 1000, to: 1100, newest: &nothing)
        #expect(asked1.map(\.kind) == [.resume, .resume] && asked1.allSatisfy { $0.pauseID == 17 })
    }

    @Test("an unused stream that plays gets a request to pause, with the next number")
    func playsUnasked() {
        var request = paused()
        var newest: UInt16? = 1000
        let asked1 = asked(&request, from: 5000, to: 5090, newest: &newest)
        #expect(asked1.map(\.at) == [5000] && asked1[0].kind == .pause && asked1[0].pauseID == 1)
    }

    @Test("after a refusal with another number the same request is repeated with that number")
    func refusedNumber() {
        var request = PauseRequest()
        request.setDemanded(false, at: start)
        var newest: UInt16? = 0
        _ = asked(&request, from: 0, to: 2010, newest: &newest)
        notify(&request, .refused, 0xFFFF, newest: newest, at: 2041)
        let asked1 = asked(&request, from: 2041, to: 2060, newest: &newest)
        #expect(asked1.map(\.at) == [2041] && asked1[0].kind == .pause && asked1[0].pauseID == 0xFFFF)
    }

    @Test("requests are 20 ms apart for any number of refusals")
    func refusedWithoutEnd() {
        var request = PauseRequest()
        request.setDemanded(false, at: start)
        var newest: UInt16? = 0
        _ = asked(&request, from: 0, to: 2010, newest: &newest)
        var times: [Int64] = []
        for time in Int64(2010)..<3010 {
            notify(&request, .refused, UInt16(time), newest: newest, at: time)
            times += asked(&request, from: time, to: time + 1, newest: &newest).map(\.at)
        }
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 20 } && times.count > 40)
    }

    @Test("a request that the sender cannot fulfil is repeated: a pause after 5 s, a resumption after 2 s")
    func refused() {
        var request = PauseRequest()
        request.setDemanded(false, at: start)
        var newest: UInt16? = 0
        _ = asked(&request, from: 0, to: 2010, newest: &newest)
        notify(&request, .refused, 0, newest: newest, at: 2050)
        #expect(asked(&request, from: 2050, to: 7100, newest: &newest).map(\.at) == [7050])

        var other = paused()
        other.setDemanded(true, at: at(10_000))
        var nothing: UInt16?
        _ = asked(&other, from: 10_000, to: 10_010, newest: &nothing)
        notify(&other, .refused, 0, newest: 1000, at: 10_050)
        #expect(asked(&other, from: 10_050, to: 12_100, newest: &nothing).map(\.at) == [12_050])
    }

    @Test("a source that ended gets no request; its replacement gets them, from number zero")
    func goodbye() {
        var request = paused()
        request.goodbyeReceived()
        request.setDemanded(true, at: at(3000))
        var nothing: UInt16?
        #expect(asked(&request, from: 3000, to: 10_000, newest: &nothing).isEmpty)
        request.setDemanded(false, at: at(10_000))
        request.restart(at: at(11_000))
        var newest: UInt16? = 40_000
        let asked1 = asked(&request, from: 11_000, to: 13_050, newest: &newest)
        #expect(asked1.map(\.at) == [13_000] && asked1[0].pauseID == 0)
    }
}
