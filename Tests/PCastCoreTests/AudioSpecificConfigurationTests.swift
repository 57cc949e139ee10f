import PCastCore
import Testing

@Suite struct AudioSpecificConfigurationTests {
    @Test("AAC-LC has its rate, channels and frame size")
    func lowComplexity() throws {
        let stereo = try #require(AudioSpecificConfiguration([0x11, 0x90]))
        #expect(stereo.objectType == 2 && stereo.sampleRate == 48_000 && stereo.channels == 2)
        #expect(stereo.samplesPerFrame == 1_024 && stereo.replication == .unannounced)
        #expect(!stereo.mayReplicateImplicitly)
        #expect(stereo.frameDuration == .nanoseconds(21_333_333))
        let mono = try #require(AudioSpecificConfiguration([0x12, 0x0C]))
        #expect(mono.sampleRate == 44_100 && mono.channels == 1 && mono.samplesPerFrame == 960)
    }

    @Test("FFmpeg states that there is no replication")
    func absent() {
        #expect(AudioSpecificConfiguration([0x11, 0x90, 0x56, 0xE5, 0])?.replication == .absent)
    }

    @Test("HE-AAC is announced in each of its forms, or may be implicit")
    func replication() throws {
        // Object type 5 at 24 kHz, with 48 kHz after replication.
        let hierarchical = try #require(AudioSpecificConfiguration([0x2B, 0x11, 0x88, 0]))
        #expect(hierarchical.replication == .hierarchical && hierarchical.objectType == 2)
        #expect(hierarchical.sampleRate == 24_000 && hierarchical.extendedSampleRate == 48_000)
        #expect(hierarchical.channels == 2 && !hierarchical.hasParametricStereo)
        let parametric = try #require(AudioSpecificConfiguration([0xEB, 0x09, 0x88, 0]))
        #expect(parametric.hasParametricStereo && parametric.channels == 1 && parametric.objectType == 2)
        // Object type 2 at 24 kHz, an extension with 48 kHz, and another with parametric stereo.
        let compatible = try #require(AudioSpecificConfiguration([0x13, 0x08, 0x56, 0xE5, 0x9D, 0x48, 0x80]))
        #expect(compatible.replication == .backwardCompatible && compatible.extendedSampleRate == 48_000)
        #expect(compatible.hasParametricStereo)
        #expect(AudioSpecificConfiguration([0x13, 0x10])?.mayReplicateImplicitly == true)
    }

    @Test("an explicit rate and the channels of a program are read")
    func explicitValues() {
        // The index 15, 24,000 Hz in 24 bits, two channels.
        #expect(AudioSpecificConfiguration([0x17, 0x80, 0x2E, 0xE0, 0x10])?.sampleRate == 24_000)
        // Channel configuration 0, and a program with one pair in front: its tag, profile, rate and counts.
        let program: [UInt8] = [0x11, 0x80, 0x04, 0xC4, 0x00, 0x00, 0x20]
        #expect(AudioSpecificConfiguration(program)?.channels == 2)
    }

    @Test(
        "truncated configurations, reserved values and other codecs are rejected",
        arguments: [
            [], [0x11], [0x17, 0x80, 0x2E], [0x16, 0x90], [0x11, 0xC8], [0x17, 0x80, 0, 0, 0x10], [0x00, 0x90],
            [0x92, 0x10], [0xF9, 0, 0, 0, 0], [0x2B, 0x11], [UInt8](repeating: 0x11, count: 257),
        ] as [[UInt8]])
    func invalid(bytes: [UInt8]) {
        #expect(AudioSpecificConfiguration(bytes) == nil)
    }

    @Test("no bytes trap")
    func arbitrary() {
        let ends: [[UInt8]] = [
            [], [0xFF, 0xFF, 0xFF, 0xFF], [0x56, 0xE5, 0x9D, 0x48, 0x80], [0, 0, 0, 0, 0, 0],
        ]
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                for rest in ends {
                    guard let configuration = AudioSpecificConfiguration([first, second] + rest) else { continue }
                    #expect(configuration.sampleRate > 0 && configuration.channels != 0)
                }
            }
        }
    }
}
