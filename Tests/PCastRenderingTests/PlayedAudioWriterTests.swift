import CALSA
import Foundation
import PCastCodecs
import PCastCore
import PCastIO
import Synchronization
import Testing

@testable import PCastRendering

/// A sender's tone on virtual time, frame by frame. The time at which a sample is due identifies it.
private struct Tone {
    static let frequency = 500.0
    static let origin = Instant(nanoseconds: 4_000_000_000)

    static func frame(_ index: Int64, channels: Int = 2) -> AudioFrame {
        let samples = (0..<960).flatMap { sample in
            let value = level(at: Double(index * 960 + Int64(sample)) / 48_000)
            return (0..<channels).map { Int16((value / Double($0 + 1) * 32_767).rounded()) }
        }
        return AudioFrame(
            samples: samples, channels: channels, captureTime: nil,
            timestamp: MediaTime(ticks: index * 960, rate: .opus))
    }

    static func due(_ index: Int64) -> Instant { origin + .milliseconds(20 * index) }

    /// Returns the level at a time in seconds since the first sample.
    static func level(at time: Double) -> Double { 0.5 * sin(2 * .pi * frequency * time) }
}

/// A device on virtual time that reads ten milliseconds at a time.
private struct Device {
    let rate: Double
    let drift: Double
    var start = Tone.origin - .milliseconds(100)
    var position = 0

    private func instant(_ position: Int) -> Instant {
        start + TimeSpan(seconds: Double(position) / (rate * (1 + drift * 1e-6)))
    }

    /// The time when the next sample is audible.
    var now: Instant { instant(position) }

    /// Returns the next ten milliseconds: each sample of the left channel, and when it is audible.
    mutating func read(_ audio: inout AudioSchedule) -> [(sample: Double, heard: Instant)] {
        let count = Int(rate / 100)
        var samples = [Float](repeating: 9, count: count * 2)
        let (first, last) = (instant(position), instant(position + count))
        samples.withUnsafeMutableBufferPointer { _ = audio.read(from: first, to: last, into: $0) }
        defer { position += count }
        return (0..<count).map { (Double(samples[2 * $0]), instant(position + $0)) }
    }
}

@Suite("Audio at the times when it is due")
struct AudioScheduleTests {
    @Test(
        "a device that is too fast or too slow plays each sample on time, and the tone is unchanged",
        arguments: [-200.0, 0, 200], [44_100.0, 48_000])
    func drift(_ drift: Double, _ rate: Double) {
        var audio = AudioSchedule()
        var device = Device(rate: rate, drift: drift)
        var next: Int64 = 0
        var worst = 0.0
        for _ in 0..<3_000 {
            while Tone.due(next) - device.now < .milliseconds(60) {
                audio.add(Tone.frame(next), due: Tone.due(next))
                next += 1
            }
            for (sample, heard) in device.read(&audio) {
                let time = (heard - Tone.origin).seconds
                if time > 0.01 { worst = max(worst, abs(sample - Tone.level(at: time))) }
                // The start of the audio is rounded to the next sample.
                if time < -1 / 44_100 { #expect(sample == 0) }
            }
        }
        // A millisecond would be an error of one.
        #expect(worst < 0.01, "off by \(worst)")
        #expect(audio.breaks == 0 && audio.samplesSkipped < 2)
        #expect(abs(Double(audio.samplesPlayed) - 29.9 * 48_000) < 1_500)
    }

    @Test("late audio is skipped, and what follows is on time")
    func late() {
        var audio = AudioSchedule()
        var device = Device(rate: 48_000, drift: 0)
        for index in 0..<25 as Range<Int64> { audio.add(Tone.frame(index), due: Tone.due(index)) }
        while device.now < Tone.due(25) { _ = device.read(&audio) }
        #expect(audio.breaks <= 1)
        // Nothing comes for 200 ms, and then all of it at once.
        while device.now < Tone.due(35) {
            for (sample, _) in device.read(&audio).dropFirst(96) { #expect(sample == 0) }
        }
        for index in 25..<45 as Range<Int64> { audio.add(Tone.frame(index), due: Tone.due(index)) }
        for _ in 0..<15 {
            for (sample, heard) in device.read(&audio) {
                let time = (heard - Tone.origin).seconds
                // The audio fades in when it restarts.
                if heard > Tone.due(35) + .milliseconds(5) { #expect(abs(sample - Tone.level(at: time)) < 0.01) }
            }
        }
        #expect(abs(audio.samplesSkipped - 9_600) < 100, "\(audio.samplesSkipped)")
        #expect(audio.breaks == 1)
    }

    @Test("early audio waits until it is due")
    func early() {
        var audio = AudioSchedule()
        var device = Device(rate: 48_000, drift: 0)
        for index in 0..<10 as Range<Int64> { audio.add(Tone.frame(index), due: Tone.due(index) + .milliseconds(333)) }
        var onset: Instant?
        for _ in 0..<60 {
            for (sample, heard) in device.read(&audio) where onset == nil && abs(sample) > 0.001 { onset = heard }
        }
        let wanted = Tone.origin + .milliseconds(333)
        #expect(onset.map { ($0 - wanted).magnitude < .milliseconds(1) } == true)
        #expect(audio.samplesSkipped == 0)
    }

    @Test("a changing delay is followed without a break, in small steps", arguments: [-40, 50] as [Int64])
    func slide(_ thousandths: Int64) {
        var audio = AudioSchedule()
        var device = Device(rate: 48_000, drift: 0)
        var next: Int64 = 0
        var due = Tone.origin
        var last = 0.0
        var largest = 0.0
        for step in 0..<600 {
            while due - device.now < .milliseconds(100) {
                audio.add(Tone.frame(next), due: due)
                // For a second the delay changes by this many thousandths of the time.
                let slides = (100..<150).contains(next)
                due += .milliseconds(20) + (slides ? .microseconds(20 * thousandths) : .zero)
                next += 1
            }
            for (sample, _) in device.read(&audio) {
                if step > 20 { largest = max(largest, abs(sample - last)) }
                last = sample
            }
        }
        #expect(audio.breaks == 0)
        // At most 20 ms are skipped or inserted at a time.
        let skipped = TimeSpan(seconds: Double(audio.samplesSkipped) / 48_000)
        #expect(skipped < .milliseconds(60))
    }

    @Test("at most two seconds wait, and one channel is played on both")
    func bounds() {
        var audio = AudioSchedule()
        for index in 0..<500 as Range<Int64> { audio.add(Tone.frame(index, channels: 1), due: Tone.due(index)) }
        #expect(audio.samplesSkipped == 400 * 960)
        var device = Device(rate: 48_000, drift: 0, start: Tone.due(400))
        for (sample, heard) in device.read(&audio).dropFirst(200) {
            #expect(abs(sample - Tone.level(at: (heard - Tone.origin).seconds)) < 0.01)
        }
    }

    @Test("without audio, silence is played")
    func nothing() {
        var audio = AudioSchedule()
        var device = Device(rate: 48_000, drift: 0)
        #expect(device.read(&audio).allSatisfy { $0.sample == 0 })
        audio.add(
            AudioFrame(samples: [], channels: 2, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .opus)),
            due: device.now)
        #expect(device.read(&audio).allSatisfy { $0.sample == 0 } && audio.breaks == 0)
    }
}

@Suite("The reported audio of an output device")
struct PlayedTapTests {
    @Test(
        "it is on the machine's clock, whatever the device's own",
        arguments: [-200.0, 0, 200], [44_100, 48_000, 96_000])
    func drift(_ drift: Double, _ rate: Int) {
        let played = PlayedAudio()
        var tap = PlayedAudioReporter(rate: rate, writer: PlayedAudioWriter(of: played))
        var clock = SampleClock(rate: rate)
        let pace = Double(rate) * (1 + drift * 1e-6)
        let size = rate / 100
        var position = 0
        var now = Tone.origin
        for step in 0..<3_000 as Range<Int64> {
            now = Tone.origin + .milliseconds(10 * step)
            clock.observe(position: Int64((now - Tone.origin).seconds * pace), at: now)
            // Only the left channel has the tone, because the mean is reported.
            let chunk = (position..<position + size).flatMap { index -> [Int16] in
                [Int16((Tone.level(at: Double(index) / pace) * 32_767).rounded()), 0]
            }
            tap.put(chunk[...], clock: clock)
            position += size
        }
        // All audio of the last two seconds is known.
        let start = now - .seconds(2)
        let received = played.read(from: start, count: 90_000)
        var worst = 0.0
        for (index, sample) in received.enumerated() {
            let time = (start - Tone.origin).seconds + Double(index) / 48_000
            worst = max(worst, abs(Double(sample) / 32_768 - Tone.level(at: time) / 2))
        }
        // A whole sample would be an error of 0.016. The report is rounded to the next sample.
        #expect(worst < 0.02, "off by \(worst)")
    }

    @Test("a restarted device is reported from then on")
    func restart() {
        let played = PlayedAudio()
        var tap = PlayedAudioReporter(rate: 48_000, writer: PlayedAudioWriter(of: played))
        var clock = SampleClock(rate: 48_000)
        for begin in [Tone.origin, Tone.origin + .seconds(1)] {
            for step in 0..<20 as Range<Int64> {
                clock.observe(position: step * 480, at: begin + .milliseconds(10 * step))
                tap.put(Array(repeating: 1_000 as Int16, count: 960)[...], clock: clock)
            }
            clock.restart()
            tap.restart()
        }
        for (start, isLoud) in [(50, true), (500, false), (1_050, true)] as [(Int64, Bool)] {
            let received = played.read(from: Tone.origin + .milliseconds(start), count: 100)
            #expect(received.allSatisfy { $0 == (isLoud ? 1_000 : 0) }, "\(start) ms")
        }
    }
}

@Suite("Devices with and without a clock")
struct PlaybackTimekeeperTests {
    private let start = Instant(nanoseconds: 9_000_000_000)

    private func status(available: Int, delay: Int) -> PlaybackPCM.Status {
        PlaybackPCM.Status(state: SND_PCM_STATE_RUNNING, available: available, delay: delay, instant: start)
    }

    @Test("the position of a device is used while audio waits in it")
    func clock() {
        var timekeeper = PlaybackTimekeeper(rate: 48_000, buffer: 3_840, queued: 960)
        var received = status(available: 2_880, delay: 1_000)
        #expect(timekeeper.pause(written: 960, at: start) != nil)
        let isKnown = timekeeper.time(&received, written: 960, at: start + .milliseconds(1))
        #expect(isKnown && received.delay == 1_000 && received.available == 2_880 && received.instant == start)
        #expect(timekeeper.pause(written: 960, at: start) == nil)
        // The device underruns later, which its state reports.
        var empty = status(available: 3_840, delay: 0)
        #expect(timekeeper.time(&empty, written: 960, at: start) && empty.delay == 0)
    }

    @Test("a device that accepts everything at once gets the machine's clock")
    func noClock() {
        var timekeeper = PlaybackTimekeeper(rate: 48_000, buffer: 3_840, queued: 960)
        var known: [Bool] = []
        for step in 0..<3 as Range<Int64> {
            var received = status(available: 3_840, delay: 0)
            known.append(timekeeper.time(&received, written: 960, at: start + .milliseconds(4 * step)))
        }
        #expect(known == [false, false, true])
        var received = status(available: 3_840, delay: 0)
        let now = start + .milliseconds(15)
        #expect(timekeeper.time(&received, written: 960, at: now))
        #expect(received.delay == 240 && received.available == 3_600 && received.instant == now)
        #expect(timekeeper.pause(written: 960, at: now) == .milliseconds(1))
        #expect(timekeeper.pause(written: 1_920, at: now) == .milliseconds(5))
    }
}

/// Uses alsa-lib's own PCMs that need no hardware. They accept everything at once, so the presenter must pace itself.
@Suite("The audio output on alsa-lib's own devices", .serialized)
struct AudioPresenterTests {
    /// A file without a header into which a PCM writes its audio.
    private final class PlayedFile {
        let path = NSTemporaryDirectory() + UUID().uuidString + ".raw"

        deinit { unlink(path) }

        var pcm: String { "file:'\(path)',raw" }

        /// The samples of the left channel, from -1 to 1.
        var samples: [Double] {
            let data = FileManager.default.contents(atPath: path) ?? Data()
            return data.withUnsafeBytes { bytes in
                stride(from: 0, to: bytes.count - 3, by: 4).map { offset in
                    Double(Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int16.self))) / 32_768
                }
            }
        }
    }

    /// Yields until a condition holds.
    private func until(_ holds: () -> Bool) async -> Bool {
        let deadline = MonotonicClock.now() + .seconds(120)
        while !holds() {
            if MonotonicClock.now() > deadline { return false }
            await Task.yield()
        }
        return true
    }

    @Test("audio is written on time, and the echo canceller receives it")
    func plays() async throws {
        let file = PlayedFile()
        let played = PlayedAudio()
        let presenter = try AudioPresenter(name: file.pcm, playedAudio: played)
        #expect(await until { presenter.statistics.latency > .zero })
        // A busy machine may delay this test before it has presented everything.
        let start = MonotonicClock.now() + presenter.lead + .seconds(2)
        for index in 0..<50 as Range<Int64> {
            presenter.present(Tone.frame(index), at: start + .milliseconds(20 * index))
        }
        // The audio is kept for 2.7 s, and the silence after it counts, so a thread reads it as soon as it has been played.
        let (reads, continuation) = AsyncStream<[Int16]>.makeStream()
        let reader = try WorkerThread(name: "reader", precedence: .media) {
            let deadline = MonotonicClock.now() + .seconds(120)
            while presenter.statistics.samplesPlayed < 47_000, MonotonicClock.now() < deadline {
                FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(5))
            }
            continuation.yield(played.read(from: start + .milliseconds(300), count: 24_000))
        }
        let received = try #require(await reads.first { _ in true })
        reader.join()
        #expect(await until { presenter.statistics.breaks == 1 })
        presenter.stop()
        #expect(presenter.statistics.xruns == 0 && presenter.statistics.failure == nil)
        #expect(presenter.statistics.samplesSkipped < 480, "\(presenter.statistics)")

        let written = file.samples
        let loud = written.filter { abs($0) > 0.001 }
        #expect(abs(loud.count - 47_900) < 1_200 && written.count > loud.count)
        // The reported audio is the mean of the channels, of which the right one is half as loud, with the tone's
        // phase.
        let tone = Self.tone(in: received.map { Double($0) / 32_768 })
        // This device has no clock, so its assumed rate changes a little during playback.
        #expect(abs(tone.level - 0.375) < 0.08, "\(tone)")
        let late = (-tone.phase / (2 * .pi * Tone.frequency)) * 1_000
        #expect(abs(late) < 0.9, "reported \(late) ms too late")
    }

    /// Returns the level of the tone in the audio 300 ms after its start, and by how much its phase is ahead.
    private static func tone(in samples: [Double]) -> (level: Double, phase: Double) {
        var (sine, cosine) = (0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let angle = 2 * .pi * Tone.frequency * (0.3 + Double(index) / 48_000)
            sine += sample * sin(angle)
            cosine += sample * cos(angle)
        }
        return (2 * (sine * sine + cosine * cosine).squareRoot() / Double(samples.count), atan2(cosine, sine))
    }

    @Test("the volume scales the samples that are written")
    func volume() async throws {
        let file = PlayedFile()
        let presenter = try AudioPresenter(name: file.pcm)
        presenter.volume = 0.25
        #expect(presenter.volume == 0.25)
        #expect(await until { presenter.statistics.latency > .zero })
        let start = MonotonicClock.now() + presenter.lead + .seconds(2)
        for index in 0..<25 as Range<Int64> {
            presenter.present(Tone.frame(index), at: start + .milliseconds(20 * index))
        }
        #expect(await until { presenter.statistics.samplesPlayed >= 23_000 })
        presenter.stop()
        let peak = file.samples.map(abs).max() ?? 0
        #expect(abs(peak - 0.125) < 0.003, "\(peak)")
    }

    @Test("a renderer plays decoded audio in sync, and silence while it is muted", .timeLimit(.minutes(5)))
    func renders() async throws {
        let file = PlayedFile()
        let heard = Mutex<[Instant]>([])
        let renderer = try StreamRenderer(
            options: StreamRendererOptions(audioDevice: file.pcm),
            callbacks: RendererCallbacks(onAudio: { _, due in heard.withLock { $0.append(due) } }))
        // The packets arrive on a thread of their own, because other tests delay this one.
        let pushing = try WorkerThread(name: "pushing", precedence: .media) {
            do {
                let encoder = try OpusEncoder(channels: 2, bitrate: Bitrate(bitsPerSecond: 96_000))
                let begin = MonotonicClock.reference()
                for index in 0..<100 as Range<Int64> {
                    FramePacing.sleep(until: begin.instant + .milliseconds(20 * index))
                    if index == 60 { renderer.isMuted = true }
                    var frame = Tone.frame(index)
                    frame.captureTime = begin.wallTime + .milliseconds(20 * index)
                    for packet in try encoder.encode(frame) { renderer.push(packet) }
                }
            } catch {
                Issue.record(error)
            }
        }
        #expect(await until { heard.withLock { $0.count } >= 98 })
        pushing.join()
        let statistics = try #require(renderer.audioOutputStatistics)
        renderer.stop()
        #expect(statistics.xruns == 0 && statistics.failure == nil)
        let loud = file.samples.filter { abs($0) > 0.05 }.count
        // The file has 1.2 s of a sine, of which a fifteenth is below that level.
        #expect((42_000...60_000).contains(loud), "\(loud) samples are loud")
    }

    @Test("a renderer that finishes plays all audio that it has received", .timeLimit(.minutes(5)))
    func finishes() async throws {
        let file = PlayedFile()
        let renderer = try StreamRenderer(options: StreamRendererOptions(audioDevice: file.pcm))
        #expect(await until { renderer.audioOutputStatistics.map { $0.latency > .zero } == true })
        // The packets arrive on a thread of their own, because other tests delay this one.
        let pushing = try WorkerThread(name: "pushing", precedence: .media) {
            do {
                let encoder = try OpusEncoder(channels: 2, bitrate: Bitrate(bitsPerSecond: 96_000))
                let begin = MonotonicClock.reference()
                // After silence, a tone of 200 ms arrives before it is due.
                for index in 0..<80 as Range<Int64> {
                    FramePacing.sleep(until: begin.instant + .milliseconds(20 * min(index, 70)))
                    var frame = Tone.frame(index)
                    if index < 70 { frame.samples = Array(repeating: 0, count: frame.samples.count) }
                    frame.captureTime = begin.wallTime + .milliseconds(20 * index)
                    for packet in try encoder.encode(frame) { renderer.push(packet) }
                }
            } catch {
                Issue.record(error)
            }
            renderer.finish()
        }
        pushing.join()
        let loud = file.samples.filter { abs($0) > 0.05 }.count
        // A fifteenth of a sine is below that level.
        #expect((7_000...9_600).contains(loud), "\(loud) samples are loud")
    }

    @Test("a missing device is reported, and leaves nothing behind")
    func absent() {
        #expect(throws: IOError.self) { _ = try AudioPresenter(name: "hw:31,0") }
        #expect(throws: IOError.self) { _ = try StreamRenderer(options: StreamRendererOptions(audioDevice: "hw:31,0")) }
        let message = #expect(throws: IOError.self) { _ = try AudioPresenter(name: "nowhere") }
        #expect(message?.description == "opening the audio output “nowhere” failed: No such file or directory.")
    }

    @Test("it stops at once, also while it plays")
    func stops() async throws {
        let presenter = try AudioPresenter(name: "null")
        presenter.present(Tone.frame(0), at: MonotonicClock.now() + .seconds(600))
        #expect(await until { presenter.statistics.latency > .zero })
        presenter.stop()
        presenter.stop()
    }
}
