import Foundation
import PCastCore
import PCastTestSupport
import Testing

@testable import PCastDevices

/// A sound card on virtual time. It captures a tone that is pure in real time, despite the drift of the card's clock.
private struct SimulatedCard {
    let rate: Double
    let drift: Double
    let jitter: TimeSpan
    let frequency = 440.0
    var generator = SeededGenerator(seed: 5)
    var start = Instant(nanoseconds: 3_000_000_000)
    var position: Int64 = 0

    /// The number of samples per second of real time.
    var pace: Double { rate * (1 + drift * 1e-6) }

    /// Delivers the samples that were captured until `now`, with a slightly late time.
    mutating func hand(over timeline: inout CaptureTimeline, at now: Instant) {
        let end = Int64((now - start).seconds * pace)
        let samples = (position..<end).map { index in
            Float(0.5 * sin(2 * .pi * frequency * ((start - .zero).seconds + Double(index) / pace)))
        }
        let late = TimeSpan.nanoseconds(Int64.random(in: 0...jitter.nanoseconds, using: &generator))
        _ = timeline.observe(position: end, at: now + late)
        timeline.append(samples)
        position = end
    }
}

extension Instant {
    fileprivate static let zero = Instant(nanoseconds: 0)
}

@Suite("Frames on the machine's clock from a card with its own clock")
struct CaptureTimelineTests {
    @Test(
        "a card that is too fast or too slow: the number of samples is the time, and the tone is unchanged",
        arguments: [-200.0, 0, 200], [44_100.0, 48_000])
    func drift(_ drift: Double, _ rate: Double) throws {
        var card = SimulatedCard(rate: rate, drift: drift, jitter: .milliseconds(2))
        var timeline = CaptureTimeline(rate: Int(rate), channels: 1)
        var frames: [CaptureTimeline.Frame] = []
        let begin = card.start
        for step in 1...6_000 as ClosedRange<Int64> {
            let now = begin + .milliseconds(10 * step)
            card.hand(over: &timeline, at: now)
            while let frame = timeline.next() { frames.append(frame) }
        }
        // There is a minute of audio, minus the audio in the buffers.
        #expect((2_997...3_001).contains(frames.count), "\(frames.count) frames")
        #expect(timeline.silentSamples == 0)
        for (index, frame) in frames.enumerated() {
            #expect(frame.ticks == Int64(index) * 960 && frame.samples.count == 960)
            #expect(frame.start - frames[0].start == .milliseconds(20 * Int64(index)))
        }
        // After it has learned the rate, each sample has its capture time, within the mean of the jitter.
        for frame in frames.dropFirst(500) {
            let error = phaseError(of: frame, frequency: card.frequency)
            #expect(abs(error - 1) < 0.8, "off by \(error) ms at \(frame.ticks)")
        }
    }

    /// Returns how much later the frame's tone is than its time, in milliseconds.
    private func phaseError(of frame: CaptureTimeline.Frame, frequency: Double) -> Double {
        var (sine, cosine) = (0.0, 0.0)
        for (index, sample) in frame.samples.enumerated() {
            let time = (frame.start - .zero).seconds + Double(index) / 48_000
            sine += Double(sample) * sin(2 * .pi * frequency * time)
            cosine += Double(sample) * cos(2 * .pi * frequency * time)
        }
        return atan2(cosine, sine) / (2 * .pi * frequency) * 1_000 * -1
    }

    @Test("the rate never changes audibly: no step between samples exceeds that of the tone")
    func smooth() throws {
        var card = SimulatedCard(rate: 48_000, drift: 150, jitter: .milliseconds(4))
        var timeline = CaptureTimeline(rate: 48_000, channels: 1)
        let begin = card.start
        var last: Int16?
        let largest = 0.5 * 32_768 * 2 * .pi * card.frequency / 48_000 * 1.01
        for step in 1...1_000 as ClosedRange<Int64> {
            card.hand(over: &timeline, at: begin + .milliseconds(10 * step))
            while let frame = timeline.next() {
                for sample in frame.samples.dropFirst(frame.ticks == 0 ? 64 : 0) {
                    if let last { #expect(abs(Double(sample) - Double(last)) <= largest + 1) }
                    last = sample
                }
            }
        }
    }

    @Test("audio that an overrun loses is silence of its length, and the time continues")
    func overrun() throws {
        var card = SimulatedCard(rate: 48_000, drift: 50, jitter: .zero)
        var timeline = CaptureTimeline(rate: 48_000, channels: 1)
        let begin = card.start
        var frames: [CaptureTimeline.Frame] = []
        for step in 1...500 as ClosedRange<Int64> {
            card.hand(over: &timeline, at: begin + .milliseconds(10 * step))
            while let frame = timeline.next() { frames.append(frame) }
        }
        // Nothing is read for 300 ms. Then the card restarts with a new count of samples.
        timeline.restart()
        card.start = begin + .milliseconds(5_300)
        card.position = 0
        for step in 531...800 as ClosedRange<Int64> {
            card.hand(over: &timeline, at: begin + .milliseconds(10 * step))
            while let frame = timeline.next() { frames.append(frame) }
        }
        for (index, frame) in frames.enumerated() {
            #expect(frame.ticks == Int64(index) * 960)
            #expect(frame.start - frames[0].start == .milliseconds(20 * Int64(index)))
        }
        #expect((397...400).contains(frames.count))
        // A filter length of the resampler at the end of the first part is lost as well.
        #expect(abs(Double(timeline.silentSamples) - 14_400) < 1_100, "\(timeline.silentSamples)")
        let silent = frames.filter { $0.samples.allSatisfy { $0 == 0 } }
        #expect(silent.count >= 14 && silent.allSatisfy { (240...270).contains($0.ticks / 960) })
        for frame in frames.dropFirst(270) { #expect(abs(phaseError(of: frame, frequency: card.frequency)) < 0.3) }
    }

    @Test("a gap of more than a second is not filled: count and time jump together")
    func pause() throws {
        var card = SimulatedCard(rate: 48_000, drift: 0, jitter: .zero)
        var timeline = CaptureTimeline(rate: 48_000, channels: 1)
        let begin = card.start
        var frames: [CaptureTimeline.Frame] = []
        for step in 1...100 as ClosedRange<Int64> {
            card.hand(over: &timeline, at: begin + .milliseconds(10 * step))
            while let frame = timeline.next() { frames.append(frame) }
        }
        let before = frames.count
        timeline.restart()
        card.start = begin + .seconds(3_600)
        card.position = 0
        for step in 1...100 as ClosedRange<Int64> {
            card.hand(over: &timeline, at: card.start + .milliseconds(10 * step))
            while let frame = timeline.next() { frames.append(frame) }
        }
        #expect(frames.count - before < 105 / 2 + 2 && timeline.silentSamples < 960)
        for (earlier, later) in zip(frames, frames.dropFirst()) {
            let passed = ClockRate.opus.span(ofTicks: later.ticks - earlier.ticks)
            #expect((later.start - earlier.start - passed).magnitude < .microseconds(1))
            #expect(later.ticks > earlier.ticks)
        }
        #expect(try #require(frames.last).start - frames[0].start > .seconds(3_600))
    }

    @Test("unreported losses of the driver are detected by time, and become silence")
    func lost() throws {
        var card = SimulatedCard(rate: 48_000, drift: -30, jitter: .milliseconds(1))
        var timeline = CaptureTimeline(rate: 48_000, channels: 1)
        let begin = card.start
        var frames: [CaptureTimeline.Frame] = []
        for step in 1...1_000 as ClosedRange<Int64> {
            // At 5 s the card loses 60 ms. Its count continues with the next samples.
            if step == 500 { card.start = begin + .milliseconds(60) }
            if step < 500 || step > 506 { card.hand(over: &timeline, at: begin + .milliseconds(10 * step)) }
            while let frame = timeline.next() { frames.append(frame) }
        }
        #expect(abs(Double(timeline.silentSamples) - 2_880) < 100, "\(timeline.silentSamples)")
        #expect((496...500).contains(frames.count))
    }

    @Test("two channels keep their order")
    func stereo() {
        var timeline = CaptureTimeline(rate: 48_000, channels: 2)
        let begin = Instant(nanoseconds: 1_000_000_000)
        var frames: [CaptureTimeline.Frame] = []
        for step in 1...50 as ClosedRange<Int64> {
            _ = timeline.observe(position: step * 480, at: begin + .milliseconds(10 * step))
            timeline.append(Array(repeating: [0.25, -0.5] as [Float], count: 480).flatMap(\.self))
            while let frame = timeline.next() { frames.append(frame) }
        }
        for frame in frames.dropFirst(2) {
            #expect(frame.samples.count == 1_920)
            for index in stride(from: 0, to: 1_920, by: 2) {
                #expect(abs(frame.samples[index] - 8_192) <= 1 && abs(frame.samples[index + 1] + 16_384) <= 1)
            }
        }
    }
}
