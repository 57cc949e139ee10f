import PCastCore
import Testing

@testable import PCastDevices

@Suite("The times of a file")
struct PlaybackTimelineTests {
    @Test("positions begin at zero for any start time of the file, and continue when it is played again")
    func loops() {
        var timeline = PlaybackTimeline()
        let frame = TimeSpan.milliseconds(40)
        #expect(timeline.position(of: .milliseconds(1_480), length: frame) == .zero)
        #expect(timeline.position(of: .milliseconds(1_520), length: frame) == .milliseconds(40))
        timeline.startNextPass()
        #expect(timeline.position(of: .milliseconds(1_480), length: frame) == .milliseconds(80))
        timeline.startNextPass()
        #expect(timeline.position(of: .milliseconds(1_480), length: frame) == .milliseconds(120))
    }

    @Test("audio of the encoder's delay is slightly before zero")
    func primed() {
        var timeline = PlaybackTimeline()
        _ = timeline.position(of: .zero, length: .milliseconds(40))
        #expect(timeline.position(of: .milliseconds(-21), length: .milliseconds(21)) == .milliseconds(-21))
    }

    private func audio(_ count: Int, channels: Int = 1, value: Int16 = 7) -> AudioFrame {
        AudioFrame(
            samples: Array(repeating: value, count: count * channels), channels: channels, captureTime: nil,
            timestamp: MediaTime(ticks: 0, rate: .opus))
    }

    @Test("frames of AAC become frames of 20 ms whose times are their count")
    func frames() {
        var framer = URIAudioFramer(channels: 1)
        var positions: [TimeSpan] = []
        for index in 0..<15 as Range<Int64> {
            let position = ClockRate.opus.span(ofTicks: index * 1_024)
            for (frame, position) in framer.push(audio(1_024), at: position) {
                #expect(frame.sampleCount == 960)
                positions.append(position)
            }
        }
        #expect(positions == (0..<16 as Range<Int64>).map { .milliseconds($0 * 20) })
    }

    @Test("a gap is filled with silence, an overlap is cut, and rounding is left alone")
    func holes() {
        var framer = URIAudioFramer(channels: 1)
        #expect(framer.push(audio(960), at: .zero).count == 1)
        let filled = framer.push(audio(960), at: .milliseconds(40))
        #expect(filled.count == 2)
        #expect(filled[0].frame.samples.allSatisfy { $0 == 0 })
        #expect(filled[1].frame.samples.allSatisfy { $0 == 7 })
        #expect(framer.push(audio(960), at: .milliseconds(62)).map(\.position) == [.milliseconds(60)])
        #expect(framer.push(audio(960), at: .milliseconds(70)).count == 0)
        #expect(framer.push(audio(480), at: .milliseconds(90)).map(\.position) == [.milliseconds(80)])
    }

    @Test("the track keeps its channels when the file changes them")
    func channels() {
        var stereo = URIAudioFramer(channels: 2)
        #expect(stereo.push(audio(960), at: .zero)[0].frame.samples.count == 1_920)
        var mono = URIAudioFramer(channels: 1)
        #expect(
            mono.push(audio(960, channels: 2, value: 9), at: .zero)[0].frame.samples == Array(repeating: 9, count: 960))
    }

    @Test("frames of an odd size lose their last row or column, and even ones are unchanged")
    func evenFrames() {
        let frames = EvenSizeCropper()
        let odd = TestFrames.empty(Dimensions(width: 333, height: 187), luma: 90)
        #expect(frames.even(odd).dimensions == Dimensions(width: 332, height: 186))
        #expect(TestFrames.middle(of: frames.even(odd)) == 90)
        let even = TestFrames.empty(Dimensions(width: 64, height: 36))
        #expect(frames.even(even) === even)
    }
}
