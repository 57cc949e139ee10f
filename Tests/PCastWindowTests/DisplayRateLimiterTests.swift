import PCastCore
import Testing

@testable import PCastWindow

@Suite("A display gets one frame for each of its refreshes")
struct DisplayPaceTests {
    /// Presents frames at these times. Each is drawn when the pace permits, unless the next one came before. Returns
    /// the times of drawing.
    private func draw(_ arrivals: [Instant], refreshRate: Int) -> [Instant] {
        var pace = DisplayRateLimiter(refreshRate: refreshRate)
        var drawn: [Instant] = []
        for (index, arrival) in arrivals.enumerated() {
            let moment = pace.earliest(at: arrival)
            if index + 1 < arrivals.count, arrivals[index + 1] < moment { continue }
            pace.drawn(at: moment)
            drawn.append(moment)
        }
        return drawn
    }

    @Test("frames at the display's own rate are all drawn, with jitter of a third of the interval")
    func jitter() {
        var random = SystemRandomNumberGenerator()
        let arrivals = (0..<3_600).map { index in
            Instant(nanoseconds: Int64(index) * 1_000_000_000 / 60 + Int64.random(in: 0..<5_500_000, using: &random))
        }
        #expect(draw(arrivals, refreshRate: 60).count == arrivals.count)
    }

    @Test("at twice the rate every second frame is drawn")
    func twiceAsMany() {
        let arrivals = (0..<1_200).map { Instant(nanoseconds: Int64($0) * 1_000_000_000 / 120) }
        let drawn = draw(arrivals, refreshRate: 60)
        #expect((599...602).contains(drawn.count))
    }

    @Test("a frame after a pause is drawn at once, and the pause is not compensated")
    func pause() {
        var pace = DisplayRateLimiter(refreshRate: 50)
        pace.drawn(at: Instant(nanoseconds: 0))
        let later = Instant(nanoseconds: 5_000_000_000)
        #expect(pace.earliest(at: later) == later)
        pace.drawn(at: later)
        #expect(pace.earliest(at: later) == later + .milliseconds(10))
    }

    @Test("a display with an unknown refresh rate counts as one of 60 per second")
    func unknownRate() {
        #expect(DisplayRateLimiter(refreshRate: 0).interval == .seconds(1) / 60)
    }
}
