import Foundation
import PCastCore
import PCastDevices
import PCastIO
import Synchronization
import Testing

@testable import PCastRendering

extension Hardware {
    /// The project's audio output plays on one side of the loopback card, and its microphone records the other.
    @Suite("Microphone and audio output")
    struct MicrophoneAudioOutputTests {
        /// Returns a frame of a sine at 48 kHz with two channels.
        private func frame(_ index: Int64, frequency: Double, level: Double) -> AudioFrame {
            let samples = (0..<960).flatMap { sample -> [Int16] in
                let time = Double(index * 960 + Int64(sample)) / 48_000
                let value = Int16(level * 32_767 * sin(2 * .pi * frequency * time))
                return [value, value / 2]
            }
            return AudioFrame(
                samples: samples, channels: 2, captureTime: nil, timestamp: MediaTime(ticks: index * 960, rate: .opus))
        }

        /// Plays `count` frames from a time on, each some time before it is due. Returns when the last one was passed
        /// on.
        private func play(
            _ presenter: AudioPresenter, from start: Instant, count: Int64, frequency: Double, level: Double
        ) {
            let sleep = CancellableSleep()
            for index in 0..<count {
                let due = start + .milliseconds(20 * index)
                _ = sleep.sleep(until: due - presenter.lead - .milliseconds(20))
                presenter.present(frame(index, frequency: frequency, level: level), at: due)
            }
        }

        @Test(
            "audio is audible when it is due, and the reported audio is the audible audio",
            .timeLimit(.minutes(5)))
        func lipSync() throws {
            var hearing = try hear()
            // A busy host delays the machine, and its devices overrun and underrun.
            for _ in 0..<4 where hearing.isDisturbed { hearing = try hear() }
            let statistics = hearing.statistics
            let isDisturbed = hearing.isDisturbed
            try #require(!isDisturbed, "\(statistics)")
            #expect(statistics.samplesSkipped < 2_000 && statistics.failure == nil, "\(statistics)")
            #expect(abs(statistics.samplesPlayed - 96_000) < 2_000, "\(statistics)")
            #expect(statistics.latency > .milliseconds(5) && statistics.latency < .milliseconds(90), "\(statistics)")

            // The card transfers audio every jiffy, which is 4 ms.
            let late = try #require(hearing.late)
            #expect(late.magnitude < .milliseconds(10), "played \(late) after its due time")
            let onLead = try #require(hearing.reportedLate)
            #expect((onLead - late).magnitude < .milliseconds(10), "reported \(onLead - late) after it was played")

            #expect(abs(hearing.audio.level(1_000, channel: 0) - 0.5) < 0.05)
            #expect(abs(hearing.audio.level(1_000, channel: 1) - 0.25) < 0.025)
            #expect(abs(hearing.audio.frequency(near: 1_000, channel: 0) - 1_000) < 2)
        }

        /// Two seconds of a tone from the audio output to the microphone.
        private struct RecordedOutputs {
            var statistics: AudioOutputStatistics
            var isDisturbed: Bool
            /// The delay of the start of the tone after its due time, by the microphone's times and by the reported
            /// audio.
            var late: TimeSpan?
            var reportedLate: TimeSpan?
            /// The middle of the tone.
            var audio: Heard
        }

        private func hear() throws -> RecordedOutputs {
            let presenter = try AudioPresenter(name: "hw:0,0,0")
            let recording = try Recording(id: "hw:0,1,0")
            // Meanwhile the presenter determines how much audio the device must buffer without running dry.
            _ = try recording.frames(until: 150)
            let before = (presenter.statistics.xruns, recording.source.statistics.xruns)
            let start = Machine.now + .milliseconds(200)
            play(presenter, from: start, count: 100, frequency: 1_000, level: 0.5)
            let count = try recording.frames(until: 1).count
            let frames = try recording.frames(until: count + 10)
            let onLead = PlayedAudio.shared.read(from: start - .milliseconds(100), count: 48_000)
            let statistics = presenter.statistics
            recording.stop()
            presenter.stop()
            let reference = MonotonicClock.reference()
            var onset: Instant?
            for frame in frames where onset == nil {
                guard let captured = frame.captureTime,
                    let index = (0..<frame.sampleCount).first(where: { abs(Int(frame.samples[2 * $0])) > 4_000 })
                else { continue }
                onset = reference.instant(at: captured) + ClockRate.opus.span(ofTicks: Int64(index))
            }
            let first = onLead.firstIndex { abs(Int($0)) > 3_000 }
            return RecordedOutputs(
                statistics: statistics, isDisturbed: before != (statistics.xruns, recording.source.statistics.xruns),
                late: onset.map { $0 - start },
                reportedLate: first.map { ClockRate.opus.span(ofTicks: Int64($0)) - .milliseconds(100) },
                audio: Heard(frames.suffix(60).prefix(25)))
        }

        @Test("the user's default output is used and shared", .timeLimit(.minutes(5)))
        func standard() throws {
            let presenter = try AudioPresenter(name: "default")
            let second = try AudioPresenter(name: "default")
            let recording = try Recording(id: "hw:0,1,0")
            _ = try recording.frames(until: 50)
            let start = Machine.now + .milliseconds(300)
            play(presenter, from: start, count: 75, frequency: 1_000, level: 0.5)
            let count = try recording.frames(until: 1).count
            let frames = try recording.frames(until: count + 10)
            let statistics = presenter.statistics
            recording.stop()
            presenter.stop()
            second.stop()
            #expect(statistics.failure == nil && statistics.samplesPlayed > 60_000, "\(statistics)")
            let audio = Heard(frames.suffix(50).prefix(20))
            #expect(abs(audio.level(1_000, channel: 0) - 0.5) < 0.1, "\(audio.level(1_000, channel: 0)), \(statistics)")
        }

        @Test("a device with other rates and formats plays converted audio", .timeLimit(.minutes(5)))
        func conversion() throws {
            // The side that is opened first restricts the formats of the other.
            let recorder = try MachineProgram(
                "arecord",
                ["-q", "-D", "hw:0,1,0", "-f", "S32_LE", "-r", "44100", "-c", "1", "-t", "raw", "/tmp/recorded"])
            let state = "/proc/asound/card0/pcm1c/sub0/status"
            try Machine.wait(for: "arecord to record") {
                try String(contentsOfFile: state, encoding: .utf8).contains("state: RUNNING")
            }
            let presenter = try AudioPresenter(name: "hw:0,0,0")
            let start = Machine.now + .milliseconds(500)
            play(presenter, from: start, count: 100, frequency: 1_000, level: 0.5)
            try Machine.wait(for: "the audio to have been played") { Machine.now > start + .milliseconds(2_200) }
            presenter.stop()
            recorder.end()
            let data = try Data(contentsOf: URL(fileURLWithPath: "/tmp/recorded"))
            let samples = data.withUnsafeBytes { bytes in
                stride(from: 0, to: bytes.count - 3, by: 4).map { offset in
                    Double(Int32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)))
                        / 2_147_483_648
                }
            }
            let first = try #require(samples.firstIndex { abs($0) > 0.05 })
            let middle = samples[(first + 44_100)..<(first + 66_150)]
            let power = middle.reduce(0) { $0 + $1 * $1 } / Double(middle.count)
            // The single channel is the mean of two, of which the other has half the level.
            #expect(abs((power * 2).squareRoot() - 0.375) < 0.02, "\((power * 2).squareRoot())")
            let crossings = zip(middle, middle.dropFirst()).count { $0 < 0 && $1 >= 0 }
            #expect(abs(crossings - 500) <= 3)
        }

        @Test("an unplugged output is silent, and plays again when it returns", .timeLimit(.minutes(5)))
        func vanish() throws {
            let presenter = try AudioPresenter(name: "hw:Loopback,0")
            try Machine.wait(for: "the audio output to run") { presenter.statistics.latency > .zero }
            let driver = "/sys/bus/platform/drivers/snd_aloop"
            try "snd_aloop.0".write(toFile: "\(driver)/unbind", atomically: false, encoding: .utf8)
            try Machine.wait(for: "the loss to be noticed") { presenter.statistics.failure != nil }
            #expect(presenter.statistics.latency == .zero)
            presenter.present(frame(0, frequency: 500, level: 0.5), at: Machine.now)
            try "snd_aloop.0".write(toFile: "\(driver)/bind", atomically: false, encoding: .utf8)
            try Machine.settle()
            try Machine.wait(for: "the audio output to be back") {
                presenter.statistics.failure == nil && presenter.statistics.latency > .zero
            }
            presenter.stop()
        }

        @Test("an output that is delayed underruns, which is counted, and continues", .timeLimit(.minutes(5)))
        func underrun() throws {
            let pcm = try PlaybackPCM(name: "hw:0,0,0")
            let onLead = Mutex<(count: Int, statistics: AudioOutputStatistics)>((0, AudioOutputStatistics()))
            let sleep = CancellableSleep()
            let worker = try WorkerThread(name: "playback") {
                var playback = AudioPlayback(PlayedAudio())
                let failure = playback.run(
                    on: pcm,
                    volume: {
                        // While it plays, the thread is late once by more than the device's buffer.
                        if onLead.withLock({ $0.count }) == 50 {
                            _ = sleep.sleep(until: Machine.now + .milliseconds(200))
                        }
                        return 1
                    }, next: { nil },
                    onLead: { _, statistics in
                        onLead.withLock { onLead in
                            onLead.count += 1
                            onLead.statistics = statistics
                        }
                    })
                #expect(failure == nil)
                pcm.close()
            }
            try Machine.wait(for: "it to continue") { onLead.withLock { $0.count } > 150 }
            pcm.signal()
            worker.join()
            let statistics = onLead.withLock { $0.statistics }
            // From then on it buffers more audio in the device.
            #expect(statistics.xruns >= 1 && statistics.latency > .milliseconds(25), "\(statistics)")
        }

        @Test("an output of another program is reported", .timeLimit(.minutes(5)))
        func busy() throws {
            let first = try AudioPresenter(name: "hw:0,0,0")
            let failure = #expect(throws: IOError.self) { _ = try AudioPresenter(name: "hw:0,0,0") }
            #expect(failure?.description == "opening the audio output “hw:0,0,0” failed: Device or resource busy.")
            first.stop()
            let second = try AudioPresenter(name: "hw:0,0,0")
            second.stop()
        }
    }
}
