import CALSA
import Foundation
import PCastCore
import PCastDevices
import PCastIO
import Synchronization
import Testing

extension Machine {
    static var now: Instant { MonotonicClock.now() }
    static var wallTime: WallTime { MonotonicClock.wallTime() }

    /// Runs `body` with the file permissions of the user nobody. On Linux, a thread has its own permissions. Swift's
    /// Glibc does not contain the call.
    static func asNobody(_ body: () -> Void) throws {
        typealias Call = @convention(c) (UInt32) -> Int32
        guard let symbol = dlsym(nil, "setfsuid") else { throw Failure(description: "no setfsuid") }
        let setfsuid = unsafeBitCast(symbol, to: Call.self)
        _ = setfsuid(65_534)
        body()
        _ = setfsuid(0)
    }
}

/// A sine in each channel.
struct Tone {
    var rate: Int
    /// The frequency in hertz, and the level relative to full scale.
    var channels: [(frequency: Double, level: Double)]

    /// Returns a second of it with interleaved channels, in one of alsa-lib's formats. It can be repeated without a
    /// break.
    func second(format: String) -> Data {
        var data = Data(capacity: rate * channels.count * 4)
        for index in 0..<rate {
            for (frequency, level) in channels {
                let value = level * sin(2 * .pi * frequency * Double(index) / Double(rate))
                switch format {
                case "FLOAT_LE": withUnsafeBytes(of: Float(value)) { data.append(contentsOf: $0) }
                case "S32_LE": Self.append(Int32(value * 2_147_483_647), 4, to: &data)
                case "S24_LE": Self.append(Int32(value * 8_388_607), 4, to: &data)
                case "S24_3LE": Self.append(Int32(value * 8_388_607), 3, to: &data)
                default: Self.append(Int32(value * 32_767), 2, to: &data)
                }
            }
        }
        return data
    }

    private static func append(_ value: Int32, _ count: Int, to data: inout Data) {
        withUnsafeBytes(of: value.littleEndian) { data.append(contentsOf: $0.prefix(count)) }
    }
}

/// `aplay`, playing on one side of the loopback card.
final class Player {
    private let process = Process()
    private let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).raw")

    init(_ tone: Tone, format: String = "S16_LE", device: String = "hw:0,0,0") throws {
        let second = tone.second(format: format)
        try (0..<15).reduce(into: Data()) { data, _ in data.append(second) }.write(to: file)
        process.executableURL = URL(fileURLWithPath: "/machine/bin/env")
        process.arguments = [
            "aplay", "-q", "-D", device, "-t", "raw", "-f", format, "-r", "\(tone.rate)", "-c",
            "\(tone.channels.count)",
            file.path,
        ]
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let number = device.dropFirst("hw:0,".count).prefix(1)
        let state = "/proc/asound/card0/pcm\(number)p/sub0/status"
        try Machine.wait(for: "aplay to play") {
            let text = try String(contentsOfFile: state, encoding: .utf8)
            guard process.isRunning else { throw Machine.Failure(description: "aplay has ended") }
            return text.contains("state: RUNNING")
        }
    }

    func end() {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: file)
    }
}

/// The frames that a microphone delivered.
final class Recording: Sendable {
    private struct State {
        var frames: [AudioFrame] = []
        var end: SourceEnd?
        var hold = TimeSpan.zero
        /// The first frame after the last loss.
        var steadyFrom = 0
        var xruns = 0
    }

    let source: MicrophoneSource
    private let state = Mutex(State())

    convenience init(id: String, channels: AudioChannelLayout = .stereo) throws {
        try self.init(MicrophoneSource(id: id, configuration: AudioConfiguration(channels: channels)))
    }

    init(_ source: MicrophoneSource) throws {
        self.source = source
        try source.start(
            deliver: { [unowned self] frame in
                let xruns = self.source.statistics.xruns
                let hold = state.withLock { state in
                    if xruns != state.xruns || frame.samples.suffix(100).allSatisfy({ $0 == 0 }) {
                        state.steadyFrom = state.frames.count + 1
                    }
                    state.xruns = xruns
                    state.frames.append(frame)
                    defer { state.hold = .zero }
                    return state.hold
                }
                if hold > .zero { _ = CancellableSleep().sleep(until: MonotonicClock.now() + hold) }
            }, ended: { [unowned self] end in state.withLock { $0.end = end } })
    }

    /// Delays the source's thread once.
    func hold(for span: TimeSpan) { state.withLock { $0.hold = span } }

    func frames(until count: Int) throws -> [AudioFrame] {
        try Machine.wait(for: "\(count) frames of audio") {
            if let end = state.withLock({ $0.end }) { throw Machine.Failure(description: "it ended: \(end)") }
            return state.withLock { $0.frames.count } >= count
        }
        return state.withLock { $0.frames }
    }

    /// Waits for this many contiguous frames without silence or a loss, and returns all. A busy host delays the
    /// machine, which causes overruns of its devices.
    func frames(steady count: Int) throws -> [AudioFrame] {
        try Machine.wait(for: "\(count) steady frames of audio") {
            if let end = state.withLock({ $0.end }) { throw Machine.Failure(description: "it ended: \(end)") }
            return state.withLock { $0.frames.count - $0.steadyFrom } >= count
        }
        return state.withLock { $0.frames }
    }

    func end() throws -> SourceEnd {
        try Machine.wait(for: "the end") { state.withLock { $0.end } != nil }
        return state.withLock { $0.end! }
    }

    func stop() { source.stop() }

    /// Expects that every frame is 20 ms after the one before, in its count and in its time.
    func expectContinuous(_ frames: [AudioFrame], _ location: SourceLocation = #_sourceLocation) {
        for (index, frame) in frames.enumerated() {
            #expect(frame.timestamp.ticks == Int64(index) * 960 && frame.sampleCount == 960, sourceLocation: location)
        }
        for (earlier, later) in zip(frames, frames.dropFirst()) {
            guard let first = earlier.captureTime, let second = later.captureTime else {
                Issue.record("a frame without a time", sourceLocation: location)
                return
            }
            #expect(((second - first) - .milliseconds(20)).magnitude < .milliseconds(2), sourceLocation: location)
        }
    }
}

/// Contiguous frames, for the measurement of tones.
struct Heard {
    private let samples: [[Double]]

    init(_ frames: some Sequence<AudioFrame>) {
        var samples: [[Double]] = [[], []]
        for frame in frames {
            for (index, sample) in frame.samples.enumerated() {
                samples[index % frame.channels].append(Double(sample) / 32_768)
            }
        }
        self.samples = samples
    }

    /// Returns the level of a tone in a channel, relative to full scale.
    func level(_ frequency: Double, channel: Int) -> Double {
        let (sine, cosine) = projection(frequency, of: samples[channel][...])
        return (sine * sine + cosine * cosine).squareRoot()
    }

    /// Returns the exact frequency of a tone, from the phase difference between the first and the last quarter.
    func frequency(near frequency: Double, channel: Int) -> Double {
        let audio = samples[channel]
        let distance = audio.count * 3 / 4
        let (early, late) = (audio[..<(audio.count / 4)], audio[distance...])
        let first = projection(frequency, of: early)
        let second = projection(frequency, of: late)
        let turned = atan2(second.cosine, second.sine) - atan2(first.cosine, first.sine)
        return frequency + turned.remainder(dividingBy: 2 * .pi) / (2 * .pi) * 48_000 / Double(distance)
    }

    /// Returns the sine and cosine components of a frequency, with a Hann window.
    private func projection(_ frequency: Double, of samples: ArraySlice<Double>) -> (sine: Double, cosine: Double) {
        var (sine, cosine, weight) = (0.0, 0.0, 0.0)
        for index in samples.indices {
            let window = 0.5 - 0.5 * cos(2 * .pi * Double(index - samples.startIndex) / Double(samples.count))
            let angle = 2 * .pi * frequency * Double(index) / 48_000
            sine += window * samples[index] * sin(angle)
            cosine += window * samples[index] * cos(angle)
            weight += window
        }
        return (2 * sine / weight, 2 * cosine / weight)
    }
}

/// A menu of polar patterns on a card that has none. The kernel lets any program add controls to a card.
struct PatternMenu {
    private let card: String
    private static let name = "Mic Pattern"

    init(card: String, items: [String]) throws {
        self.card = card
        try Self.withControl(card) { control, id in
            let names = items.map { strdup($0) }
            defer { for name in names { free(name) } }
            var info: OpaquePointer?
            snd_ctl_elem_info_malloc(&info)
            defer { snd_ctl_elem_info_free(info) }
            snd_ctl_elem_info_set_id(info, id)
            let pointers = names.map { UnsafePointer<CChar>($0) }
            let result = pointers.withUnsafeBufferPointer {
                snd_ctl_add_enumerated_elem_set(control, info, 1, 1, UInt32(items.count), $0.baseAddress)
            }
            guard result >= 0 else { throw Machine.Failure(description: String(cString: snd_strerror(result))) }
        }
    }

    /// Returns the selected item.
    func selected() throws -> Int {
        try Self.withControl(card) { control, id in
            var value: OpaquePointer?
            snd_ctl_elem_value_malloc(&value)
            defer { snd_ctl_elem_value_free(value) }
            snd_ctl_elem_value_set_id(value, id)
            let result = snd_ctl_elem_read(control, value)
            guard result >= 0 else { throw Machine.Failure(description: String(cString: snd_strerror(result))) }
            return Int(snd_ctl_elem_value_get_enumerated(value, 0))
        }
    }

    func remove() { try? Self.withControl(card) { control, id in _ = snd_ctl_elem_remove(control, id) } }

    private static func withControl<Result>(
        _ card: String, _ body: (OpaquePointer?, OpaquePointer?) throws -> Result
    ) throws -> Result {
        var control: OpaquePointer?
        guard snd_ctl_open(&control, card, 0) >= 0 else { throw Machine.Failure(description: "no card \(card)") }
        defer { snd_ctl_close(control) }
        var id: OpaquePointer?
        snd_ctl_elem_id_malloc(&id)
        defer { snd_ctl_elem_id_free(id) }
        snd_ctl_elem_id_set_interface(id, SND_CTL_ELEM_IFACE_MIXER)
        snd_ctl_elem_id_set_name(id, name)
        return try body(control, id)
    }
}
