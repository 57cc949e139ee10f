import Glibc
import PCastCore
import Testing

@testable import PCastDevices
@testable import PCastIO

/// Echoes under realistic conditions: changing rooms, pauses and lost samples.
@Suite("Echo cancellation under difficult conditions", .serialized)
struct EchoFailureTests {
    private func scene(
        _ seed: UInt64, seconds: Double, far: ClosedRange<Double>? = nil, near: ClosedRange<Double>? = nil,
        room: SimulatedRoom? = nil
    ) -> EchoScene {
        var speech = Voice.woman(seed).speak(seconds: seconds)
        if let far { speech = speech.only(far) }
        let answer = near.map { Voice.man(seed + 1).speak(seconds: seconds, level: 2_400).only($0) } ?? []
        return EchoScene(
            far: speech, near: answer.isEmpty ? Array(repeating: 0, count: speech.count) : answer,
            room: room ?? SimulatedRoom(seed: seed + 2))
    }

    @Test("a path that changes is learned again")
    func changedPath() {
        var scene = scene(201, seconds: 18)
        let other = SimulatedRoom(seed: 999)
        let moved = other.hear(echo: other.echo(of: scene.played.map { Double($0) }), speech: [])
        scene.heard[0].replaceSubrange((8 * 48_000)..., with: moved[(8 * 48_000)...])
        let (cleaned, _) = scene.run()
        #expect(scene.reduction(cleaned, 5...8) >= 30)
        #expect(scene.reduction(cleaned, 10...12) >= 15)
        #expect(scene.reduction(cleaned, 13...18) >= 30)
    }

    @Test("a volume that changes is followed", arguments: [8.0, -12.0])
    func changedVolume(_ decibels: Double) {
        var scene = scene(211, seconds: 16)
        let gain = pow(10, decibels / 20)
        for index in (8 * 48_000)..<scene.heard[0].count {
            scene.heard[0][index] = Int16(max(-32_768, min(32_767, Double(scene.heard[0][index]) * gain)))
        }
        let (cleaned, _) = scene.run()
        #expect(scene.reduction(cleaned, 10...16) >= 25)
    }

    @Test("echo is cancelled after a microphone was muted")
    func muted() {
        var scene = scene(221, seconds: 18)
        for index in (6 * 48_000)..<(10 * 48_000) { scene.heard[0][index] = 0 }
        let (cleaned, _) = scene.run()
        #expect(scene.reduction(cleaned, 4...6) >= 30)
        #expect(scene.reduction(cleaned, 14...18) >= 30)
    }

    @Test("after a pause of the far end nothing must be learned again")
    func pause() {
        var scene = scene(231, seconds: 18)
        let silent = (7 * 48_000)..<(13 * 48_000)
        let room = SimulatedRoom(seed: 233)
        for index in silent { scene.played[index] = 0 }
        scene.heard[0] = room.hear(echo: room.echo(of: scene.played.map { Double($0) }), speech: [])
        let (cleaned, _) = scene.run()
        #expect(scene.reduction(cleaned, 4...7) >= 30)
        // The canceller is off during the pause, and leaves the microphone's audio unchanged.
        #expect(cleaned[(9 * 48_000)..<(12 * 48_000)] == scene.heard[0][(9 * 48_000)..<(12 * 48_000)])
        #expect(scene.reduction(cleaned, 13.1...14) >= 20)
    }

    @Test("frames that a device loses do not break the alignment")
    func lostFrames() {
        var scene = scene(241, seconds: 14)
        scene.lost = 400..<423
        let (cleaned, status) = scene.run()
        #expect(scene.reduction(cleaned, 8.5...9.5) >= 25)
        #expect(scene.reduction(cleaned, 9.5...14) >= 30)
        #expect(abs(status.clockDrift - 50) < 12)
    }

    @Test("echo is cancelled after an underrun of the audio output")
    func underrun() {
        var scene = scene(251, seconds: 16)
        // The playback is 300 ms later from here on, in the room and in the reports.
        let gap = 14_400
        scene.played.insert(contentsOf: [Int16](repeating: 0, count: gap), at: 7 * 48_000)
        scene.played.removeLast(gap)
        let room = SimulatedRoom(seed: 253)
        scene.heard[0] = room.hear(echo: room.echo(of: scene.played.map { Double($0) }), speech: [])
        let (cleaned, _) = scene.run()
        #expect(scene.reduction(cleaned, 7.4...9) >= 25)
        #expect(scene.reduction(cleaned, 9...16) >= 30)
    }

    @Test("a near speaker is audible while the echo is learned")
    func doubleTalkFromTheStart() {
        let scene = scene(261, seconds: 16, near: 0.5...16)
        let (cleaned, _) = scene.run()
        #expect(scene.likeness(cleaned, 2...16) >= 0.8)
        #expect(scene.likeness(cleaned, 2...16) > scene.likeness(scene.heard[0], 2...16))
    }

    @Test("headphones make no echo, and near speech is unchanged")
    func headphones() {
        let room = SimulatedRoom(seed: 273, echo: -90)
        let scene = scene(271, seconds: 12, near: 1...12, room: room)
        let (cleaned, _) = scene.run()
        #expect(scene.likeness(cleaned, 1...11.9) >= 0.99)
    }

    @Test("connecting headphones during a call keeps near speech")
    func headphonesLater() {
        var scene = scene(281, seconds: 18, near: 9...18)
        let room = SimulatedRoom(seed: 283, echo: -90)
        let quiet = room.hear(echo: room.echo(of: scene.played.map { Double($0) }), speech: scene.near)
        scene.heard[0].replaceSubrange((7 * 48_000)..., with: quiet[(7 * 48_000)...])
        let (cleaned, _) = scene.run()
        #expect(scene.likeness(cleaned, 10...17.9) >= 0.8)
    }

    @Test("the echo of two channels over two paths is cancelled in both")
    func stereo() {
        var scene = scene(291, seconds: 16, near: 12...16)
        let other = SimulatedRoom(seed: 298)
        scene.heard.append(other.hear(echo: other.echo(of: scene.played.map { Double($0) }), speech: scene.near))
        let audio = PlayedAudio()
        let canceller = EchoCanceller(channels: 2, played: audio)
        let cleaned = scene.run(canceller, into: PlayedAudioWriter(of: audio))
        for channel in 0..<2 {
            #expect(scene.reduction(cleaned[channel], 1...3, channel: channel) >= 15)
            #expect(scene.reduction(cleaned[channel], 5...11.9, channel: channel) >= 35)
            #expect(scene.likeness(cleaned[channel], 12.5...15.9) >= 0.8)
        }
    }

    @Test("echo is cancelled if it is loud, faint or noisy", arguments: [(0.0, 10.0), (-20, 10), (-6, 60)])
    func levels(_ echo: Double, _ noise: Double) {
        let scene = scene(301, seconds: 20, near: 13...20, room: SimulatedRoom(seed: 303, echo: echo, noise: noise))
        let (cleaned, _) = scene.run()
        // At most the part of the echo above the noise can be removed.
        let heard = power(scene.heard[0][(5 * 48_000)..<(12 * 48_000)].map { Double($0) })
        let most = 10 * log10(heard / (noise * noise))
        #expect(scene.reduction(cleaned, 5...12) >= min(35, most - 3))
        #expect(scene.likeness(cleaned, 13.5...19.9) >= (echo == 0 ? 0.7 : 0.8))
    }
}
