import PCastCore
import Testing

@testable import PCastRendering

/// The frames of one sender on virtual time. They are captured at regular times of its clock, and ready when the test
/// says so.
private struct Sender {
    static let wallOrigin = WallTime(millisecondsSinceEpoch: 1_795_227_333_000)
    static let instantOrigin = Instant(nanoseconds: 7_000_000_000)

    var synchronizer: MediaSynchronizer
    var knowsCapture = true

    /// The amount by which the sender's clock is too fast, in parts per million.
    var drift: Int64 = 0

    /// Sends a frame that was captured `milliseconds` after the origin and was ready after `delay`. Returns the time
    /// from capture to presentation in milliseconds; nil if the frame comes after a stall.
    mutating func send(_ media: MediaType, capturedAt milliseconds: Int64, delay: Int64) -> Double? {
        let span = TimeSpan.milliseconds(milliseconds)
        let captured = Self.instantOrigin + span
        let now = captured + .milliseconds(delay)
        let wall = Self.wallOrigin + span + .nanoseconds(span.nanoseconds / 1_000_000 * drift)
        let rate: ClockRate = media == .video ? .video : .opus
        let timestamp = MediaTime(ticks: rate.ticks(in: wall - Self.wallOrigin), rate: rate)
        let capture = knowsCapture ? wall : nil
        let decision =
            media == .video
            ? synchronizer.scheduleFrame(captureTime: capture, timestamp: timestamp, at: now)
            : synchronizer.scheduleAudio(captureTime: capture, timestamp: timestamp, at: now)
        guard case .present(let due) = decision else { return nil }
        return (max(due, now) - captured).milliseconds
    }
}

extension Sender {
    /// Returns the milliseconds from capture to presentation; infinite if the frame comes after a stall.
    mutating func held(_ media: MediaType, capturedAt milliseconds: Int64, delay: Int64) -> Double {
        send(media, capturedAt: milliseconds, delay: delay) ?? .infinity
    }
}

@Suite("Lip sync on virtual time")
struct MediaSynchronizerTests {
    @Test("video and audio are synchronized at the larger of their delays")
    func steady() throws {
        var sender = Sender(synchronizer: MediaSynchronizer(mode: .lipSync))
        var (frame, audio) = (0.0, 0.0)
        for step in 0..<100 as Range<Int64> {
            audio = sender.held(.audio, capturedAt: step * 20, delay: 35)
            if step % 2 == 0 { frame = sender.held(.video, capturedAt: step * 20, delay: 12) }
        }
        #expect(audio == 35)
        #expect(abs(frame - 35) < 0.1)
        #expect(try #require(sender.synchronizer.holdDifference).magnitude < .milliseconds(1))
    }

    @Test("the first frame is shown at once, and the delay then changes by a few percent per second")
    func firstFrameAndGradualDelay() {
        var sender = Sender(synchronizer: MediaSynchronizer(mode: .lipSync), knowsCapture: false)
        for step in 0..<30 as Range<Int64> {
            #expect(sender.held(.video, capturedAt: step * 33, delay: 12) == 12)
            #expect(sender.held(.audio, capturedAt: step * 33, delay: 30) == 30)
        }
        #expect(sender.synchronizer.holdDifference == nil)
        sender.knowsCapture = true
        var last = 12.0
        for step in 30..<60 as Range<Int64> {
            _ = sender.send(.audio, capturedAt: step * 33, delay: 30)
            let frame = sender.held(.video, capturedAt: step * 33, delay: 12)
            #expect(frame - last <= 33 * 0.1 + 0.01 && frame >= last)
            last = frame
        }
        #expect(abs(last - 30) < 0.1)
    }

    @Test("in immediate mode video does not wait for its audio")
    func immediate() {
        var sender = Sender(synchronizer: MediaSynchronizer(mode: .immediate))
        for step in 0..<50 as Range<Int64> {
            _ = sender.send(.audio, capturedAt: step * 33, delay: 60)
            let delay = 10 + step % 7
            #expect(sender.held(.video, capturedAt: step * 33, delay: delay) == Double(delay))
        }
    }

    @Test("jitter raises the delay at once, and it decreases slowly")
    func jitter() {
        var sender = Sender(synchronizer: MediaSynchronizer(mode: .lipSync))
        for step in 0..<100 as Range<Int64> { _ = sender.send(.audio, capturedAt: step * 20, delay: 30) }
        #expect(sender.held(.audio, capturedAt: 2_000, delay: 70) == 70)
        var previous = sender.held(.audio, capturedAt: 2_020, delay: 30)
        #expect(previous <= 70 && previous > 69)
        for step in 102..<600 as Range<Int64> {
            let held = sender.held(.audio, capturedAt: step * 20, delay: 30)
            #expect(held <= previous && previous - held <= 0.81)
            previous = held
        }
        #expect(previous == 30)
    }

    @Test("even jitter is covered: after a second nothing is late any more")
    func evenJitter() {
        var sender = Sender(synchronizer: MediaSynchronizer(mode: .lipSync))
        var held: [Double] = []
        for step in 0..<500 as Range<Int64> {
            let delay = 25 + (step * 7) % 19
            let result = sender.held(.audio, capturedAt: step * 20, delay: delay)
            if step > 50 { held.append(result) }
        }
        #expect(held.allSatisfy { $0 == 43 })
    }

    @Test("frames that arrive in a burst after a stall are not shown late, and the delay does not change")
    func burstAfterStall() {
        var sender = Sender(synchronizer: MediaSynchronizer(mode: .lipSync))
        for step in 0..<60 as Range<Int64> { _ = sender.send(.video, capturedAt: step * 33, delay: 15) }
        // The path holds everything for 700 ms, and then all of it arrives at once.
        var late = 0
        for step in 60..<81 as Range<Int64> {
            if sender.send(.video, capturedAt: step * 33, delay: 700 - (step - 60) * 33) == nil { late += 1 }
        }
        #expect(late >= 19)
        let after = sender.held(.video, capturedAt: 81 * 33, delay: 15)
        #expect(after <= 35)
    }

    @Test("the delay follows a longer path after less than half a second")
    func longerPath() {
        var sender = Sender(synchronizer: MediaSynchronizer(mode: .lipSync))
        for step in 0..<60 as Range<Int64> { _ = sender.send(.audio, capturedAt: step * 20, delay: 30) }
        var results: [Double?] = []
        for step in 60..<160 as Range<Int64> { results.append(sender.send(.audio, capturedAt: step * 20, delay: 430)) }
        #expect(results.prefix(20).allSatisfy { $0 == nil })
        #expect(results.last! == 430)
        #expect(results.filter { $0 == nil }.count <= 21)
    }

    @Test("the catch-up of a join does not remain as delay")
    func join() {
        var sender = Sender(synchronizer: MediaSynchronizer(mode: .lipSync))
        for step in 0..<15 as Range<Int64> { _ = sender.send(.video, capturedAt: step * 33, delay: 480 - step * 31) }
        for step in 15..<60 as Range<Int64> { _ = sender.send(.video, capturedAt: step * 33, delay: 15) }
        #expect(sender.held(.video, capturedAt: 60 * 33, delay: 15) < 20)
    }

    @Test("a sender's clock that drifts is followed in both directions", arguments: [-200, 200] as [Int64])
    func senderClockDrift(_ drift: Int64) {
        var sender = Sender(synchronizer: MediaSynchronizer(mode: .lipSync), drift: drift)
        for step in 0..<30_000 as Range<Int64> {
            let audio = sender.held(.audio, capturedAt: step * 20, delay: 30)
            let frame = sender.held(.video, capturedAt: step * 20, delay: 15)
            if step > 100 { #expect(audio < 33 && frame < 33 && abs(audio - frame) < 2) }
        }
    }

    @Test("a single track has its own delay only", arguments: MediaType.allCases)
    func alone(_ media: MediaType) {
        var sender = Sender(synchronizer: MediaSynchronizer(mode: .lipSync))
        for step in 0..<100 as Range<Int64> {
            #expect(sender.held(media, capturedAt: step * 20, delay: 22) == 22)
        }
    }

    @Test("a requested delay is reached in a few seconds, exactly or within its limits")
    func asked() throws {
        var sender = Sender(synchronizer: MediaSynchronizer(mode: .lipSync))
        func last(from first: Int64, to end: Int64) -> (audio: Double, frame: Double) {
            var (audio, frame) = (0.0, 0.0)
            for step in first..<end {
                audio = sender.held(.audio, capturedAt: step * 20, delay: 30)
                frame = sender.held(.video, capturedAt: step * 20, delay: 20)
            }
            return (audio, frame)
        }
        _ = last(from: 0, to: 100)
        #expect(try #require(sender.synchronizer.playoutDelay) == .milliseconds(10))
        sender.synchronizer.override = .milliseconds(400)
        let overridden = last(from: 100, to: 300)
        #expect(overridden.audio == 430 && overridden.frame == 420)
        #expect(try #require(sender.synchronizer.playoutDelay) == .milliseconds(400))
        sender.synchronizer.override = nil
        sender.synchronizer.bounds = PlayoutBounds(minimum: .milliseconds(100), maximum: .milliseconds(200))
        let bounded = last(from: 300, to: 1_000)
        #expect(abs(bounded.audio - 130) < 1 && abs(bounded.frame - 130) < 1)
        sender.synchronizer.bounds = .unbounded
        #expect(last(from: 1_000, to: 2_000).audio == 30)
    }
}
