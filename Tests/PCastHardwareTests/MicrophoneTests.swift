import CALSA
import Foundation
import PCastCore
import PCastDevices
import Synchronization
import Testing

extension Hardware {
    /// Microphones on the kernel's loopback card, which records on one side the audio of the other, and on its dummy
    /// card, which has a mixer.
    @Suite("Microphones")
    struct MicrophoneTests {
        // MARK: Enumeration

        @Test("cards are found with their capabilities, under names that survive a restart", .timeLimit(.minutes(5)))
        func enumeration() throws {
            let devices = Microphones.enumerate()
            let loopback = try #require(devices.first { $0.info.id == "CARD=Loopback,DEV=1" })
            #expect(loopback.info.mediaType == .audio && loopback.info.deviceType == .physical)
            #expect(loopback.info.name == "Loopback, Loopback PCM" && loopback.identity.name == "Loopback")
            guard case .audio(let audio) = loopback.capabilities else { throw Machine.Failure(description: "no audio") }
            #expect(audio.sampleRates.contains(8_000) && audio.sampleRates.contains(48_000))
            #expect(audio.sampleRates == audio.sampleRates.sorted() && audio.sampleRates.last == 192_000)
            #expect(audio.channels == 1...32 && audio.canCancelEcho && audio.polarPatterns.isEmpty)
            #expect(devices.contains { $0.info.id == "CARD=Dummy,DEV=0" && $0.info.name == "Dummy" })
            #expect(Set(devices.map(\.info.id)).count == devices.count)
        }

        @Test("a device in use is listed, and its other client keeps it", .timeLimit(.minutes(5)))
        func enumerationOfBusy() throws {
            let first = try MicrophoneSource(id: "hw:0,1,0", configuration: AudioConfiguration())
            let second = try MicrophoneSource(id: "hw:0,1,1", configuration: AudioConfiguration())
            let device = try #require(Microphones.enumerate().first { $0.info.id == "CARD=Loopback,DEV=1" })
            guard case .audio(let audio) = device.capabilities else { throw Machine.Failure(description: "no audio") }
            #expect(audio.sampleRates.isEmpty)
            first.stop()
            second.stop()
        }

        @Test("the dummy card's mixer is listed as it is", .timeLimit(.minutes(5)))
        func controls() throws {
            let device = try #require(Microphones.enumerate().first { $0.info.id == "CARD=Dummy,DEV=0" })
            guard case .audio(let audio) = device.capabilities else { throw Machine.Failure(description: "no audio") }
            let volume = try #require(audio.controls.first { $0.name == "Mic Capture Volume" })
            guard case .integer(let range, let step, _) = volume.kind else {
                throw Machine.Failure(description: "\(volume)")
            }
            #expect(range == -50...100 && step == 1)
            let isSwitch = audio.controls.contains {
                if $0.name == "Mic Capture Switch", case .boolean = $0.kind { true } else { false }
            }
            #expect(isSwitch)
        }

        // MARK: Captured audio

        @Test("two tones keep frequency, level and channel, and times are contiguous", .timeLimit(.minutes(5)))
        func tones() throws {
            let player = try Player(Tone(rate: 48_000, channels: [(440, 0.5), (1_000, 0.25)]))
            defer { player.end() }
            let recording = try Recording(id: "CARD=Loopback,DEV=1")
            let frames = try recording.frames(steady: 200)
            recording.stop()
            let heard = Heard(frames.suffix(25))
            #expect(abs(heard.level(440, channel: 0) - 0.5) < 0.02)
            #expect(abs(heard.level(1_000, channel: 1) - 0.25) < 0.02)
            #expect(heard.level(1_000, channel: 0) < 0.002 && heard.level(440, channel: 1) < 0.002)
            #expect(abs(heard.frequency(near: 440, channel: 0) - 440) < 0.5)
            #expect(abs(heard.frequency(near: 1_000, channel: 1) - 1_000) < 1.1)
            recording.expectContinuous(frames)
            #expect(recording.source.statistics.frames >= frames.count)
        }

        @Test(
            "hardware with other rates, formats and channels is converted to 48 kHz",
            .timeLimit(.minutes(5)),
            arguments: [
                (44_100, "S16_LE", 2), (96_000, "S16_LE", 2), (8_000, "S16_LE", 1), (48_000, "S32_LE", 2),
                (48_000, "FLOAT_LE", 1), (48_000, "S24_3LE", 2), (32_000, "S24_LE", 4),
            ])
        func conversion(_ rate: Int, _ format: String, _ channels: Int) throws {
            // The side that is opened first restricts the formats of the other.
            let player = try Player(
                Tone(rate: rate, channels: (0..<channels).map { $0 % 2 == 0 ? (440, 0.5) : (1_000, 0.25) }),
                format: format)
            defer { player.end() }
            let recording = try Recording(id: "hw:0,1,0")
            let frames = try recording.frames(steady: 150)
            recording.stop()
            // While the clock of the card is learned, which reports its position every 4 ms, the rate varies by some
            // hundred ppm.
            let heard = Heard(frames.suffix(25))
            #expect(abs(heard.level(440, channel: 0) - 0.5) < 0.02)
            #expect(abs(heard.frequency(near: 440, channel: 0) - 440) < 0.5)
            if channels > 1 {
                #expect(abs(heard.level(1_000, channel: 1) - 0.25) < 0.02)
                #expect(heard.level(1_000, channel: 0) < 0.002 && heard.level(440, channel: 1) < 0.002)
            } else {
                #expect(abs(heard.level(440, channel: 1) - 0.5) < 0.02)
            }
            recording.expectContinuous(frames)
        }

        @Test(
            "the user's default is listed first, is opened if no device is named, and is shared",
            .timeLimit(.minutes(5)))
        func standard() throws {
            // Without a configuration of the user's, that is the first card, through alsa-lib's dsnoop.
            let first = try #require(Microphones.enumerate().first)
            #expect(first.info.id == "default" && first.info.name == "Default (Loopback)")
            let player = try Player(Tone(rate: 48_000, channels: [(440, 0.5), (1_000, 0.25)]), device: "hw:0,1,0")
            defer { player.end() }
            let recording = try Recording(MicrophoneSource(id: nil, configuration: AudioConfiguration()))
            let second = try Recording(id: "default")
            let frames = try recording.frames(steady: 150)
            _ = try second.frames(until: 50)
            second.stop()
            recording.stop()
            let heard = Heard(frames.suffix(25))
            #expect(abs(heard.level(440, channel: 0) - 0.5) < 0.02)
            #expect(abs(heard.level(1_000, channel: 1) - 0.25) < 0.02)
            recording.expectContinuous(frames)
        }

        @Test("one channel is the mean of two", .timeLimit(.minutes(5)))
        func mono() throws {
            let player = try Player(Tone(rate: 48_000, channels: [(440, 0.5), (1_000, 0.25)]))
            defer { player.end() }
            let recording = try Recording(id: "hw:0,1,0", channels: .mono)
            let frames = try recording.frames(steady: 150)
            recording.stop()
            let heard = Heard(frames.suffix(25))
            #expect(frames.allSatisfy { $0.channels == 1 && $0.samples.count == 960 })
            #expect(abs(heard.level(440, channel: 0) - 0.25) < 0.01)
            #expect(abs(heard.level(1_000, channel: 0) - 0.125) < 0.01)
        }

        @Test("the first audio is captured after the start", .timeLimit(.minutes(5)))
        func nothingStale() throws {
            let source = try MicrophoneSource(id: "hw:0,1,0", configuration: AudioConfiguration())
            let opened = Machine.now
            try Machine.wait(for: "time to pass") { Machine.now - opened > .milliseconds(300) }
            let started = Machine.wallTime
            let recording = try Recording(source)
            let first = try #require(try recording.frames(until: 5).first?.captureTime)
            recording.stop()
            #expect(first - started > .milliseconds(-20) && first - started < .milliseconds(200))
        }

        // MARK: Failures

        @Test(
            "a consumer that delays the source loses audio, which becomes silence and is counted",
            .timeLimit(.minutes(5)))
        func overrun() throws {
            let player = try Player(Tone(rate: 48_000, channels: [(440, 0.5), (440, 0.5)]))
            defer { player.end() }
            let recording = try Recording(id: "CARD=Loopback,DEV=1")
            _ = try recording.frames(until: 100)
            recording.hold(for: .milliseconds(250))
            let frames = try recording.frames(steady: 150)
            recording.stop()
            let statistics = recording.source.statistics
            #expect(statistics.xruns >= 1, "\(statistics)")
            #expect((4_800...24_000).contains(statistics.silentSamples), "\(statistics)")
            recording.expectContinuous(frames)
            #expect(frames.contains { $0.samples.allSatisfy { $0 == 0 } })
            // The clock of a restarted card is learned again.
            #expect(abs(Heard(frames.suffix(25)).level(440, channel: 0) - 0.5) < 0.03)
        }

        @Test("a device of another client is a conflict", .timeLimit(.minutes(5)))
        func busy() throws {
            let first = try MicrophoneSource(id: "hw:0,1,0", configuration: AudioConfiguration())
            #expect(throws: DeviceError.busy("microphone:hw:0,1,0")) {
                _ = try MicrophoneSource(id: "hw:0,1,0", configuration: AudioConfiguration())
            }
            let second = try MicrophoneSource(id: "CARD=Loopback,DEV=1", configuration: AudioConfiguration())
            #expect(throws: DeviceError.busy("microphone:CARD=Loopback,DEV=1")) {
                _ = try MicrophoneSource(id: "CARD=Loopback,DEV=1", configuration: AudioConfiguration())
            }
            first.stop()
            second.stop()
            let third = try MicrophoneSource(id: "CARD=Loopback,DEV=1", configuration: AudioConfiguration())
            third.stop()
        }

        @Test(
            "a missing device is not found, and one without permission names the group",
            .timeLimit(.minutes(5)))
        func absent() throws {
            for id in ["CARD=Nothing,DEV=0", "usb-046d_0825,DEV=0", "hw:7,0", "hw:0,9", "strange(name"] {
                #expect(throws: DeviceError.notFound("microphone:\(id)", lookedIn: "/dev/snd")) {
                    _ = try MicrophoneSource(id: id, configuration: AudioConfiguration())
                }
            }
            var failure: DeviceError?
            var listed: [String] = []
            try Machine.asNobody {
                do throws(DeviceError) {
                    _ = try MicrophoneSource(id: "CARD=Loopback,DEV=1", configuration: AudioConfiguration())
                } catch {
                    failure = error
                }
                listed = Microphones.enumerate().map(\.info.id)
            }
            #expect(failure == .forbidden("microphone:CARD=Loopback,DEV=1", group: "audio"))
            #expect(listed.contains("CARD=Loopback,DEV=1"))
        }

        @Test(
            "unplugging a card ends the source at once, and the card returns under the same name",
            .timeLimit(.minutes(5)))
        func vanish() throws {
            let recording = try Recording(id: "CARD=Loopback,DEV=1")
            _ = try recording.frames(until: 20)
            let driver = "/sys/bus/platform/drivers/snd_aloop"
            // The kernel releases the card only after its clients have closed it.
            let unplugging = Thread {
                try? "snd_aloop.0".write(toFile: "\(driver)/unbind", atomically: false, encoding: .utf8)
            }
            let begin = Machine.now
            unplugging.start()
            let end = try recording.end()
            #expect(end == .vanished("it was disconnected"))
            #expect(Machine.now - begin < .seconds(2))
            try Machine.wait(for: "the driver to let go") { unplugging.isFinished }
            #expect(!Microphones.enumerate().contains { $0.info.id.hasPrefix("CARD=Loopback") })
            #expect(throws: DeviceError.notFound("microphone:CARD=Loopback,DEV=1", lookedIn: "/dev/snd")) {
                _ = try MicrophoneSource(id: "CARD=Loopback,DEV=1", configuration: AudioConfiguration())
            }
            recording.stop()
            try "snd_aloop.0".write(toFile: "\(driver)/bind", atomically: false, encoding: .utf8)
            try Machine.settle()
            let again = try Recording(id: "CARD=Loopback,DEV=1")
            _ = try again.frames(until: 20)
            again.stop()
        }

        // MARK: The mixer

        @Test("the microphone's switch is on while it is used, and restored afterwards", .timeLimit(.minutes(5)))
        func captureSwitch() throws {
            func isOn() throws -> Bool {
                try Machine.run("amixer", ["-c", "Dummy", "sget", "Mic"]).contains("Capture [on]")
            }
            try Machine.run("amixer", ["-c", "Dummy", "sset", "Mic", "nocap"])
            #expect(try !isOn())
            let recording = try Recording(id: "CARD=Dummy,DEV=0")
            _ = try recording.frames(until: 10)
            #expect(try isOn())
            recording.stop()
            #expect(try !isOn())
            try Machine.run("amixer", ["-c", "Dummy", "sset", "Mic", "cap"])
            let second = try Recording(id: "CARD=Dummy,DEV=0")
            _ = try second.frames(until: 5)
            second.stop()
            #expect(try isOn())
        }

        @Test("a card with a menu of polar patterns uses the requested one", .timeLimit(.minutes(5)))
        func polarPattern() throws {
            let menu = try PatternMenu(card: "hw:Dummy", items: ["Stereo", "Cardioid", "Omnidirectional", "Figure-8"])
            defer { menu.remove() }
            let device = try #require(Microphones.enumerate().first { $0.info.id == "CARD=Dummy,DEV=0" })
            guard case .audio(let audio) = device.capabilities else { throw Machine.Failure(description: "no audio") }
            #expect(audio.polarPatterns == [.cardioid, .omnidirectional])
            #expect(
                audio.controls.contains(
                    DeviceControl(
                        name: "Mic Pattern",
                        kind: .menu(["Stereo", "Cardioid", "Omnidirectional", "Figure-8"], standard: 0))))
            let source = try MicrophoneSource(
                id: "CARD=Dummy,DEV=0", configuration: AudioConfiguration(polarPattern: .cardioid))
            #expect(try menu.selected() == 1)
            let recording = try Recording(source)
            _ = try recording.frames(until: 5)
            #expect(source.apply(AudioConfiguration(polarPattern: .omnidirectional)).isEmpty)
            #expect(try menu.selected() == 2)
            #expect(source.apply(AudioConfiguration(polarPattern: .automatic)).isEmpty)
            #expect(source.apply(AudioConfiguration(polarPattern: .subcardioid)).keys.elementsEqual([.polarPattern]))
            #expect(try menu.selected() == 2)
            recording.stop()
        }
    }
}
