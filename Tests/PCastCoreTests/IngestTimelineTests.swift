import PCastCore
import Testing

@Suite struct IngestTimelineTests {
    private var timeline = IngestTimeline()
    private var now = Instant(nanoseconds: 5_000_000_000)
    private let start = Instant(nanoseconds: 5_000_000_000)

    /// Places a frame that arrives after a pause. Returns its media time in milliseconds.
    private mutating func place(_ milliseconds: Int64, track: Int = 0, after pause: Int64 = 20) -> Double {
        now += .milliseconds(pause)
        let time = TimeSpan.milliseconds(milliseconds)
        return timeline.place(time, track: track, at: now).mediaTime(of: time).milliseconds
    }

    @Test("media times begin at zero and keep the distances of the encoder")
    mutating func distances() {
        let times: [Int64] = [1_000_000, 1_000_033, 1_000_066]
        #expect(times.map { place($0) } == [0, 33, 66])
        #expect(place(1_000_060, track: 1) == 60)
    }

    @Test(
        "a clock that jumps or goes back continues where it was, and all tracks follow",
        arguments: [0, 36_000_000] as [Int64])
    mutating func jump(to target: Int64) {
        for step in 0..<Int64(10) {
            _ = place(500_000 + step * 20, after: 20)
            _ = place(500_000 + step * 20, track: 1, after: 0)
        }
        // Video jumps first. A frame of audio from before the jump follows.
        #expect(place(target) == 200)
        #expect(place(500_000 + 200, track: 1, after: 0) == 200)
        #expect(place(target + 20) == 220)
        #expect(place(target + 20, track: 1, after: 0) == 220)
        // Both are on one clock again.
        for step in 2..<Int64(200) {
            let video = place(target + step * 20)
            #expect(video == 200 + Double(step) * 20)
            #expect(place(target + step * 20, track: 1, after: 0) == video)
        }
    }

    @Test("a small step back never makes media times go back")
    mutating func smallStep() {
        #expect([100, 140].map { place($0) } == [0, 40])
        #expect(place(135) >= 40)
        #expect(place(175) >= 80)
    }

    @Test("a track with a clock of its own begins where the stream is, and does not move the others")
    mutating func ownClock() {
        #expect([0, 20, 40].map { place($0) } == [0, 20, 40])
        #expect(place(90_000_000, track: 1, after: 0) == 40)
        #expect(place(60) == 60)
        #expect(place(90_000_020, track: 1, after: 0) == 60)
    }

    @Test("the capture time is the arrival of the frame with the least delay, whatever the others' delays")
    mutating func captureTimes() {
        let delays: [Int64] = [30, 5, 80, 12, 500, 7]
        var captures: [Instant] = []
        for step in 0..<600 {
            let time = TimeSpan.milliseconds(Int64(step) * 20)
            let arrival = start + time + .milliseconds(delays[step % delays.count])
            captures.append(timeline.place(time, track: 0, at: arrival).capture(of: time))
        }
        for (step, capture) in captures.enumerated().dropFirst(2) {
            let delay = capture - (start + .milliseconds(Int64(step) * 20))
            #expect(delay >= .milliseconds(5) && delay < .milliseconds(6), "\(step): \(delay)")
        }
    }

    @Test("an encoder whose clock is slow or fast is followed", arguments: [999_900, 1_000_100] as [Int64])
    mutating func drift(ticks: Int64) {
        var error = TimeSpan.zero
        for step in 0..<Int64(200_000) {
            let time = TimeSpan(nanoseconds: step * 20 * ticks)
            let arrival = start + .milliseconds(step * 20)
            error = timeline.place(time, track: 0, at: arrival).capture(of: time) - arrival
        }
        // An hour later, the capture times are still those of this process.
        #expect(error.magnitude < .milliseconds(1), "\(error)")
    }

    @Test("no sequence of times overflows")
    mutating func endless() {
        var time = TimeSpan.zero
        let far = TimeSpan.milliseconds(1 << 40)
        for step in 0..<200_000 {
            time = step % 3 == 0 ? far : step % 3 == 1 ? .zero - far : time + .seconds(10)
            now += .milliseconds(step % 7 == 0 ? 100_000 : 0)
            let placement = timeline.place(time, track: step % 100, at: now)
            #expect(placement.mediaTime(of: time) >= .zero)
        }
    }
}

@Suite struct IngestReviewTests {
    private var review = IngestReview()

    private mutating func observe(_ seconds: Double, isKeyFrame: Bool = false, offset: Double = 0) -> IngestFinding? {
        review.observe(
            isKeyFrame: isKeyFrame, decodingTime: TimeSpan(seconds: seconds),
            presentationTime: TimeSpan(seconds: seconds + offset))
    }

    @Test("frames that are late for some time show a weak uplink, until they are in time again")
    func uplink() {
        var review = UplinkReview()
        var changes: [(seconds: Int64, isWeak: Bool)] = []
        for second in 0..<40 as Range<Int64> {
            // One late frame is jitter.
            let delay: Int64 = second == 2 ? 3_000 : (10..<20).contains(second) ? 1_500 : 100
            let now = Instant(nanoseconds: 0) + .seconds(second)
            if let isWeak = review.observe(delay: .milliseconds(delay), at: now) { changes.append((second, isWeak)) }
        }
        #expect(changes.map(\.seconds) == [12, 25])
        #expect(changes.map(\.isWeak) == [true, false])
    }

    @Test("video without B-frames and with frequent key frames has no findings")
    mutating func good() {
        for step in 0..<1_000 {
            let finding = observe(Double(step) / 25, isKeyFrame: step % 50 == 0, offset: 0.08)
            #expect(finding == nil)
        }
    }

    @Test("B-frames are reported once")
    mutating func reordered() {
        var findings: [IngestFinding] = []
        for step in 0..<100 {
            let offset = step % 3 == 1 ? 0.08 : 0
            if let finding = observe(Double(step) / 25, isKeyFrame: step == 0, offset: offset) {
                findings.append(finding)
            }
        }
        #expect(findings == [.reorderedFrames])
    }

    @Test("a long interval of key frames is reported once, with its length")
    mutating func longInterval() {
        var findings: [IngestFinding] = []
        for step in 0..<1_000 {
            if let finding = observe(Double(step) / 30, isKeyFrame: step % 250 == 0) { findings.append(finding) }
        }
        guard case .longKeyFrameInterval(let interval)? = findings.first, findings.count == 1 else {
            Issue.record("\(findings)")
            return
        }
        #expect((interval - TimeSpan(seconds: 250.0 / 30)).magnitude < .milliseconds(1))
        #expect("\(findings[0])".contains("8 s apart"))
    }

    @Test("the absence of key frames is reported once")
    mutating func noKeyFrame() {
        var findings: [IngestFinding] = []
        for step in 0..<1_000 {
            if let finding = observe(Double(step) / 25, isKeyFrame: step == 0) { findings.append(finding) }
        }
        #expect(findings == [.noKeyFrame])
    }

    @Test("a profile that browsers do not decode is reported")
    mutating func profile() throws {
        func configuration(_ set: [UInt8]) throws -> AVCDecoderConfiguration {
            let record = [1, set[1], set[2], set[3], 0xFF, 0xE1, 0, UInt8(set.count)] + set + [0]
            return try #require(record.withByteView { AVCDecoderConfiguration($0) })
        }
        // Constrained baseline of 640 × 480; the same in the profile High 10.
        let baseline: [UInt8] = [0x67, 0x42, 0xC0, 0x1F, 0xDA, 0x02, 0x80, 0xF6, 0x40]
        let good = try configuration(baseline)
        let finding = review.observe(good)
        #expect(finding == nil)
        var writer = H264BitWriter()
        for (value, bits) in [(110, 8), (0, 8), (31, 8)] as [(UInt32, Int)] { writer.write(value, bits) }
        // Set 0, 4:2:0, ten bits twice, no bypass, no scaling, then numbers of frames and the size.
        writer.write(1, 1)
        writer.write(0b010, 3)
        writer.write(0b011, 3)
        writer.write(0b011, 3)
        writer.write(0, 2)
        // log2_max_frame_num, order type 2, one reference frame, no gaps.
        writer.write(1, 1)
        writer.write(0b011, 3)
        writer.write(0b010, 3)
        writer.write(0, 1)
        // 16 × 16, progressive, direct inference, no cropping, no VUI.
        writer.write(1, 1)
        writer.write(1, 1)
        writer.write(0b1100, 4)
        let high = try configuration(writer.unit(0x67))
        let problem = review.observe(high)
        #expect(problem == .undecodableProfile(H264ProfileIDC(number: 110, constraints: 0)))
        let again = review.observe(high)
        #expect(again == nil)
    }
}
