import Foundation
import PCastCore
import Testing

@testable import PCastDevices

/// Verifies the limits of echo cancellation in rooms of 120 ms at -6 dB. The devices delay audio by 40 ms, and their
/// clocks differ by 50 ppm. The near speaker starts at second 20.
@Suite("Echo cancellation in simulated rooms", .serialized)
struct EchoCancellationTests {
    private static let seconds = 29.0

    /// Measures a call, prints the metrics, and checks them against the limits.
    private func measure(
        _ name: String, far: [Double], near: [Double], room: SimulatedRoom, clockIsReported: Bool = true
    ) throws {
        var scene = EchoScene(far: far, near: near.only(20...Self.seconds), room: room)
        scene.clockIsReported = clockIsReported
        let (cleaned, status) = scene.run()
        let early = scene.reduction(cleaned, 1...3)
        let late = scene.reduction(cleaned, 5...13)
        let likeness = scene.likeness(cleaned, 20.5...(Self.seconds - 0.1))
        let before = scene.likeness(scene.heard[0], 20.5...(Self.seconds - 0.1))
        print(
            String(
                format: "echo, %@: %.1f dB less in seconds 1 to 3, %.1f dB in 5 to 13; near speech %.3f (heard: %.3f); "
                    + "delay %.1f ms, clocks %.1f ppm", name, early, late, likeness, before,
                status.delay?.milliseconds ?? -1, status.clockDrift))
        #expect(early >= 15, "\(name): \(early) dB in seconds 1 to 3")
        #expect(late >= 35, "\(name): \(late) dB in seconds 5 to 13")
        #expect(likeness >= 0.8, "\(name): \(likeness)")
        let delay = try #require(status.delay)
        #expect((delay - TimeSpan(seconds: room.delay)).magnitude < .milliseconds(15))
        #expect(abs(status.clockDrift - room.drift) < 12, "\(name): \(status.clockDrift) ppm")
    }

    @Test("echo of generated voices is cancelled in rooms with different clocks", arguments: [UInt64](1...6))
    func seeds(_ seed: UInt64) throws {
        let (far, near) =
            seed.isMultiple(of: 2)
            ? (Voice.man(seed), Voice.woman(seed + 90))
            : (Voice.woman(seed), Voice.man(seed + 90))
        try measure(
            "seed \(seed)", far: far.speak(seconds: Self.seconds),
            near: near.speak(seconds: Self.seconds, level: 2_400),
            room: SimulatedRoom(seed: seed, drift: seed < 4 ? 50 : -50, decay: seed < 3 ? 40 : 60),
            clockIsReported: seed != 5)
    }

    @Test("echo is cancelled for devices with a long delay, or none", arguments: [0, 0.1, 0.25])
    func delays(_ delay: Double) throws {
        try measure(
            "delay of \(delay) s", far: Voice.woman(31).speak(seconds: Self.seconds),
            near: Voice.man(32).speak(seconds: Self.seconds, level: 2_400), room: SimulatedRoom(seed: 33, delay: delay))
    }

    @Test("echo of speech is cancelled", arguments: [("slt", "rms"), ("rms", "slt"), ("awb", "slt"), ("kal16", "rms")])
    func realVoices(_ far: String, _ near: String) throws {
        guard let far = RealVoice(far), let near = RealVoice(near) else {
            print("left out: echoes of real voices: flite, which makes them, is not installed")
            return
        }
        try measure(
            "\(far.name) far and \(near.name) near", far: try far.speak(seconds: Self.seconds),
            near: try near.speak(seconds: Self.seconds, level: 2_400), room: SimulatedRoom(seed: 41))
    }
}
