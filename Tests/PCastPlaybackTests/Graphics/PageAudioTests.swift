import Foundation
import PCastCore
import PCastTestSupport
import Testing

@testable import PCastPlayback

/// The audio of a page over a channel: its reports, its times, and its mix with the content's audio.
@Suite("The audio of an overlay page") struct PageAudioTests {
    /// Returns the report of a piece of 10 ms at 44.1 kHz in stereo, with a tone, or of silence.
    private static func report(at milliseconds: Int64, frequency: Double? = 1_000) -> String {
        let head = "\(milliseconds * 1_000) 44100 2 441"
        guard let frequency else { return head }
        var bytes = Data()
        for index in 0..<441 {
            let time = Double(milliseconds) / 1_000 + Double(index) / 44_100
            let sample = Int16((16_000 * sin(2 * .pi * frequency * time)).rounded())
            for _ in 0..<2 { withUnsafeBytes(of: sample.littleEndian) { bytes.append(contentsOf: $0) } }
        }
        return "\(head) \(bytes.base64EncodedString())"
    }

    private static func instant(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test("a report has the time, the rate and the samples, and one that is not valid is ignored")
    func reports() throws {
        let piece = try #require(PageAudioPiece(Self.report(at: 20)))
        #expect(piece.time == 20_000 && piece.rate == 44_100 && piece.channels == 2 && piece.samples.count == 882)
        #expect(piece.length.milliseconds == 10)
        #expect(PageAudioPiece(Self.report(at: 20, frequency: nil))?.samples == [])
        for broken in [
            "", "1", "1 2 3 4", "-1 44100 2 441", "0 44100 2 441 AAAA", "0 44100 9 441", "0 1 2 441", "0 44100 2 0",
            "9223372036854775807 44100 2 441", "0 44100 2 9999999999", "0 44100 2 441 ?", "0 44100 2 441  ",
            "0 44100 2 441 " + String(repeating: "A", count: 1 << 20),
        ] { #expect(PageAudioPiece(broken) == nil, "\(broken.prefix(40))") }
    }

    @Test("changed reports, and pieces of any times and rates, do not trap")
    func mutation() {
        var generator = SeededGenerator(seed: 81)
        let seeds = [0, 1_590, 999_999_999_999].map { Array(Self.report(at: $0).utf8) } + [Array("5 8000 1 1".utf8)]
        var timeline = PageAudioTimeline()
        for round in 0..<3_000 as Range<Int64> {
            var bytes = seeds.randomElement(using: &generator) ?? []
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                let index = Int.random(in: 0..<min(bytes.count, 24), using: &generator)
                bytes[index] = "0123456789 -A".utf8.randomElement(using: &generator) ?? 0
            }
            guard let piece = PageAudioPiece(String(decoding: bytes, as: UTF8.self)) else { continue }
            if let (audio, _) = timeline.take(piece, at: Self.instant(round * 10)) {
                #expect(audio.sampleCount <= piece.frames * 6 + 64)
            }
        }
    }

    @Test("pieces that arrive with jitter become one tone at 48 kHz without gaps, at the time of the fastest piece")
    func placement() throws {
        var timeline = PageAudioTimeline()
        var samples: [Int16] = []
        var starts: [Instant] = []
        var expected: Instant?
        for index in 0..<200 as Range<Int64> {
            // The capture's clock began at 5 s of this process. Each transfer takes 1 to 9 ms, the first one 1 ms.
            let arrival = Self.instant(5_000 + index * 10 + 10 + 1 + index * 7 % 9)
            let piece = try #require(PageAudioPiece(Self.report(at: index * 10)))
            guard let (audio, played) = timeline.take(piece, at: arrival) else { continue }
            if let expected { #expect((played - expected).magnitude < .milliseconds(1)) }
            expected = played + audio.length
            starts.append(played)
            samples += stride(from: 0, to: audio.samples.count, by: audio.channels).map { audio.samples[$0] }
        }
        #expect((try #require(starts.first) - Self.instant(5_001)).magnitude <= .milliseconds(1))
        // 2 s of 1 kHz have 2,000 periods.
        let rises = zip(samples, samples.dropFirst()).count { $0 < 0 && $1 >= 0 }
        #expect(abs(rises - 2_000) <= 3 && abs(samples.count - 96_000) < 200)
        // A gap or a repetition would be a step: a sine of this amplitude changes by at most 2,095 a sample. At the beginning, the
        // resampler overshoots.
        let steady = samples.dropFirst(480)
        let steepest = zip(steady, steady.dropFirst()).map { abs(Int($0) - Int($1)) }.max() ?? 0
        #expect(steepest < 2_200, "\(steepest)")
    }

    @Test("after silence, audio begins at its own time")
    func silence() throws {
        var timeline = PageAudioTimeline()
        func take(_ time: Int64, _ frequency: Double?) throws -> Instant? {
            let piece = try #require(PageAudioPiece(Self.report(at: time, frequency: frequency)))
            return timeline.take(piece, at: Self.instant(1_000 + time + 10))?.played
        }
        #expect(try take(0, 1_000) == Self.instant(1_000))
        #expect(try take(10, nil) == nil)
        let later = try #require(try take(700, 1_000))
        #expect((later - Self.instant(1_700)).magnitude < .milliseconds(1))
        // The capture has begun again, so its clock has.
        let again = PageAudioPiece(Self.report(at: 0)).flatMap { timeline.take($0, at: Self.instant(9_010)) }
        #expect((try #require(again).played - Self.instant(9_000)).magnitude < .milliseconds(1))
    }

    @Test("an image is shown 200 ms after it was drawn, and at once if it is late or its time is unknown")
    func images() {
        let now = WallTime(millisecondsSinceEpoch: 1_000_000)
        #expect(PageTiming.remaining(of: now + .milliseconds(-50), at: now) == .milliseconds(150))
        #expect(PageTiming.remaining(of: now + .milliseconds(-500), at: now) == .zero)
        #expect(PageTiming.remaining(of: now + .milliseconds(9_000), at: now) == PageTiming.delay)
        #expect(PageTiming.remaining(of: nil, at: now) == .zero)
    }

    // MARK: Mix

    private static func audio(_ value: Int16, count: Int = 960, channels: Int = 2) -> AudioFrame {
        AudioFrame(
            samples: Array(repeating: value, count: count * channels), channels: channels, captureTime: nil,
            timestamp: MediaTime(ticks: 0, rate: .opus))
    }

    @Test("inputs are added at their positions, clipped, and each block is given once")
    func mix() throws {
        var mixer = AudioMixer(from: 1)
        #expect(mixer.start == 960)
        mixer.add(Self.audio(1_000), of: .content, at: 960)
        mixer.add(Self.audio(500, channels: 1), of: .page, at: 1_440)
        mixer.add(Self.audio(30_000, count: 1_920), of: .content, at: 1_920)
        mixer.add(Self.audio(30_000), of: .page, at: 2_880)
        var block = mixer.take()
        #expect(block.position == 960)
        var samples = try #require(block.samples)
        #expect(samples.prefix(960).allSatisfy { $0 == 1_000 } && samples.suffix(960).allSatisfy { $0 == 1_500 })
        samples = try #require(mixer.take().samples)
        #expect(samples.prefix(960).allSatisfy { $0 == 30_500 } && samples.suffix(960).allSatisfy { $0 == 30_000 })
        samples = try #require(mixer.take().samples)
        #expect(samples.allSatisfy { $0 == .max })
        block = mixer.take()
        #expect(block.position == 3_840 && block.samples == nil, "a block without audio is left out")
    }

    @Test("audio that is late or too far ahead is left out, and rounding errors of times make no gaps")
    func bounds() throws {
        var mixer = AudioMixer(from: 9_600)
        mixer.add(Self.audio(100), of: .content, at: 9_120)
        mixer.add(Self.audio(100), of: .content, at: 10_081)
        mixer.add(Self.audio(7), of: .page, at: 9_600 + AudioMixer.capacity * AudioMixer.block)
        let first = try #require(mixer.take().samples)
        #expect(first.allSatisfy { $0 == 100 })
        let second = try #require(mixer.take().samples)
        #expect(second.prefix(960).allSatisfy { $0 == 100 } && second.suffix(960).allSatisfy { $0 == 0 })
        for _ in 0..<AudioMixer.capacity { #expect(mixer.take().samples == nil) }
    }
}
