import CPipeWire
import PCastCore
import PCastIO
import Testing

@testable import PCastDevices

@Suite("The audio of PipeWire")
struct PipeWireAudioTests {
    // MARK: Nodes

    private static func state() -> PipeWireRegistry.State {
        var state = PipeWireRegistry.State()
        func add(_ id: UInt32, _ name: String, _ mediaClass: String, _ others: [String: String] = [:]) {
            let properties = ["node.name": name, "media.class": mediaClass, "object.serial": "\(id + 100)"]
            state.nodes[id] = .init(properties: properties.merging(others) { _, new in new })
        }
        add(1, "speakers", "Audio/Sink", ["node.description": "Studio speakers", "device.api": "alsa"])
        add(2, "headset", "Audio/Source", ["node.description": "Headset", "device.api": "bluez5"])
        add(3, "alsa_input", "Audio/Source", ["device.api": "alsa"])
        add(4, "virtual", "Audio/Source/Virtual")
        add(5, "player", "Stream/Output/Audio", ["application.name": "Music box", "client.id": "9"])
        add(6, "player", "Stream/Output/Audio", ["client.id": "9"])
        add(7, "recorder", "Stream/Input/Audio", ["application.name": "Recorder"])
        add(8, "", "Audio/Sink")
        state.clients[9] = ["application.name": "music box", "application.process.binary": "player-bin"]
        return state
    }

    @Test("microphones that ALSA does not have, outputs and programs are listed, each program once")
    func devices() {
        let devices = PipeWireAudio.devices(Self.state()).map(\.info)
        #expect(
            devices.map(\.id) == [
                "pipewire:headset", "pipewire:virtual", "pipewire:@DEFAULT_AUDIO_SINK@", "pipewire:speakers",
                "application:Music box",
            ])
        #expect(devices.map(\.deviceType) == [.physical, .physical] + Array(repeating: .systemOutput, count: 3))
        #expect(devices[0].name == "Headset" && devices[3].name == "Audio of Studio speakers")
        #expect(devices[2].name == "Audio output of this host (Studio speakers)")
        #expect(devices.allSatisfy { $0.mediaType == .audio })
        #expect(PipeWireAudio.devices(PipeWireRegistry.State()).isEmpty)
    }

    @Test("a program is found by its name in any case and by that of its executable file, with all its streams")
    func targets() {
        typealias Targets = [PipeWireAudioStream.Target]
        let state = Self.state()
        func targets(_ target: PipeWireAudioSource.Target) -> Targets? {
            PipeWireAudioCapture.targets(target, in: state)
        }
        let streams: Targets = [.source(5, serial: "105"), .source(6, serial: "106")]
        #expect(targets(.program(name: "MUSIC box")) == streams)
        #expect(targets(.program(name: "Player-Bin")) == streams)
        #expect(targets(.program(name: "Recorder")) == [])
        #expect(targets(.output(name: nil)) == [.standardOutput])
        #expect(targets(.output(name: "speakers")) == [.output(1, serial: "101")])
        #expect(targets(.output(name: "headset")) == nil)
        #expect(targets(.microphone(name: "headset")) == [.source(2, serial: "102")])
        #expect(targets(.microphone(name: "speakers")) == nil)
        #expect(PipeWireAudioCapture.targets(.output(name: nil), in: PipeWireRegistry.State()) == nil)
    }

    @Test("PipeWire is used where it has audio, unless a PulseAudio server is requested or runs")
    func server() {
        func choose(requested: Bool = false, hasPipeWire: Bool = true, _ pulse: String?) -> AudioServerKind {
            AudioServerKind.choose(
                isPulseAudioRequested: requested, hasPipeWire: { hasPipeWire }, pulseAudioName: { pulse })
        }
        #expect(choose(nil) == .pipeWire)
        #expect(choose("PulseAudio (on PipeWire 0.3.65)") == .pipeWire)
        #expect(choose("pulseaudio") == .pulseAudio)
        #expect(choose(requested: true, nil) == .pulseAudio)
        #expect(choose(requested: true, "PulseAudio (on PipeWire 0.3.65)") == .pulseAudio)
        #expect(choose(hasPipeWire: false, nil) == .pulseAudio)
    }

    // MARK: Formats

    /// The parameter that a server returns: the offer, with the preferred value of each choice.
    private static func chosen(_ changes: KeyValuePairs<UInt32, PipeWirePod.Value> = [:]) -> PipeWirePod {
        PipeWirePod(
            type: 0x40003, parameter: 4,
            [1: .id(1), 2: .id(1), 0x10001: .id(0x11b), 0x10003: .integer(48_000), 0x10004: .integer(2)],
            followedBy: changes)
    }

    @Test("both formats of samples are read, and others are not")
    func formats() throws {
        let float = try #require(PipeWireAudioFormat(Self.chosen(), rate: 48_000))
        #expect(float.sample == .float && float.channels == 2)
        let integer = try #require(
            PipeWireAudioFormat(Self.chosen([0x10001: .id(0x103), 0x10004: .integer(1)]), rate: 48_000))
        #expect(integer.sample == .signed16 && integer.channels == 1)
        for change in [
            [0x10001: PipeWirePod.Value.id(0x101)], [0x10003: .integer(44_100)], [0x10004: .integer(0)],
            [0x10004: .integer(3)], [1: .id(2)], [2: .id(2)],
        ] as [KeyValuePairs<UInt32, PipeWirePod.Value>] {
            #expect(PipeWireAudioFormat(Self.chosen(change), rate: 48_000) == nil)
        }
    }

    @Test("the offer has the binary form of libpipewire, with the positions of the channels")
    func offer() throws {
        let words = PipeWireAudioFormat.offer(channels: 2, rate: 48_000).words
        let numbers = words.withUnsafeBytes { bytes in
            (0..<bytes.count / 4).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self) }
        }
        // A parameter that libpipewire 0.3.65 accepts.
        let expected: [UInt32] = [
            184, 15, 0x40003, 3, 1, 0, 4, 3, 1, 0, 2, 0, 4, 3, 1, 0, 0x10001, 0, 28, 19, 3, 0, 4, 3, 0x11b, 0x11b,
            0x103, 0, 0x10003, 0, 4, 4, 48_000, 0, 0x10004, 0, 4, 4, 2, 0, 0x10005, 0, 16, 13, 4, 3, 3, 4,
        ]
        #expect(numbers == expected)
        let read = try #require(words.withUnsafeBytes { PipeWirePod($0) })
        #expect(PipeWireAudioFormat(read, rate: 48_000)?.sample == .float)
    }

    // MARK: Times

    @Test("the capture time contains the delay and the resampler's buffer, and implausible times are not used")
    func times() {
        let now = Instant(nanoseconds: 10_000_000_000)
        func time(_ change: (inout cpw_time) -> Void) -> TimeSpan {
            var time = cpw_time()
            (time.now, time.numerator, time.denominator) = (9_990_000_000, 1, 48_000)
            change(&time)
            return PipeWireAudioStream.captureTime(time, now: now) - now
        }
        #expect(time { _ in } == .milliseconds(-10))
        #expect(time { $0.delay = 480 } == .milliseconds(-20))
        #expect(time { $0.delay = -960 } == .milliseconds(10))
        #expect(time { $0.buffered = 240 } == .milliseconds(-15))
        #expect(time { $0.buffered = .max } == .milliseconds(-10))
        #expect(time { ($0.delay, $0.denominator) = (480, 0) } == .milliseconds(-10))
        for delay in [Int64.max, .min] { #expect(time { $0.delay = delay } == .milliseconds(-10)) }
        for instant in [0, -1, 1, Int64.max] { #expect(time { $0.now = instant } == .zero) }
    }
}

@Suite("The ring of PipeWire's audio")
struct PipeWireAudioRingTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    private static func write<Sample>(
        _ samples: [Sample], _ format: PipeWireAudioFormat.Sample, to ring: PipeWireAudioRing
    ) -> Int {
        samples.withUnsafeBytes { ring.write($0, format, start: start) }
    }

    @Test("samples of both formats arrive in order, also around the end of the memory")
    func order() {
        let ring = PipeWireAudioRing(channels: 2, capacity: 8)
        var read: [Float] = []
        for round in 0..<10 {
            let base = Float(round) / 16
            #expect(Self.write([base, -base, 1, -1, .nan, .infinity], .float, to: ring) == 3)
            #expect(ring.take(into: &read) == .init(count: 3, lost: 0, start: Self.start))
            #expect(read == [base, -base, 1, -1, 0, 0])
            read = []
        }
        #expect(Self.write([Int16.min, 16_384], .signed16, to: ring) == 1)
        #expect(ring.take(into: &read)?.count == 1 && read == [-1, 0.5])
        #expect(ring.take(into: &read) == nil)
    }

    @Test("audio beyond the memory is dropped and counted, and incomplete samples are ignored")
    func lost() {
        let ring = PipeWireAudioRing(channels: 1, capacity: 8)
        let four = [Float](repeating: 0.5, count: 4)
        for _ in 0..<4 { #expect(Self.write(four, .float, to: ring) == 4) }
        var read: [Float] = []
        #expect(ring.take(into: &read)?.lost == 0 && ring.take(into: &read)?.lost == 0)
        #expect(ring.take(into: &read) == nil && read.count == 8)
        #expect(Self.write(four, .float, to: ring) == 4)
        #expect(ring.take(into: &read) == .init(count: 4, lost: 8, start: Self.start))
        #expect(Self.write([UInt8](repeating: 0, count: 3), .float, to: ring) == 0)
        // More than the whole memory is never written.
        #expect(Self.write([Float](repeating: 0, count: 9), .float, to: ring) == 9)
        #expect(ring.take(into: &read) == nil)
    }

    @Test("two threads transfer everything that is not counted as lost")
    func threads() throws {
        let ring = PipeWireAudioRing(channels: 1, capacity: 1 << 10)
        let (blocks, size) = (20_000, 16)
        let hasEnded = Monitor(false)
        let writer = try WorkerThread(name: "ring-test") {
            for index in 0..<blocks {
                let samples = (0..<size).map { Float(index * size + $0) }
                _ = Self.write(samples, .float, to: ring)
            }
            hasEnded.withLock { hasEnded, _ in hasEnded = true }
        }
        var (position, mismatches, samples): (Int, Int, [Float]) = (0, 0, [])
        while true {
            // This is read before the ring, so that the last block is not missed.
            let isLast = hasEnded.withLock { hasEnded, _ in hasEnded }
            while let block = ring.take(into: &samples) {
                position += block.lost
                for sample in samples {
                    if sample != Float(position) { mismatches += 1 }
                    position += 1
                }
                samples.removeAll(keepingCapacity: true)
            }
            if isLast { break }
        }
        writer.join()
        #expect(mismatches == 0 && position <= blocks * size && position > 0)
    }
}
