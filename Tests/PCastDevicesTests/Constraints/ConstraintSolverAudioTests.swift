import PCastCore
import Testing

@testable import PCastDevices

@Suite("The selection of a microphone")
struct ConstraintSolverAudioTests {
    typealias Devices = ConstraintDevices

    private func select(_ devices: [SourceDevice], _ constraints: DeviceConstraints = [:]) throws
        -> AudioSelection
    {
        try #require(try ConstraintSolver.selectAudio(from: devices, constraints: constraints))
    }

    @Test("without constraints: the first one, in stereo, with the device's own settings otherwise")
    func defaults() throws {
        let selection = try select([Devices.mono, Devices.stereo])
        #expect(selection.device == Devices.mono)
        #expect(selection.configuration == AudioConfiguration())
        #expect(selection.unmet.isEmpty)
    }

    @Test(
        "stereo is made from one channel by doubling it; a request for stereo prefers a device that has two channels",
        arguments: [DeviceConstraint.Kind.exact, .ideal])
    func stereo(_ kind: DeviceConstraint.Kind) throws {
        let constraints: DeviceConstraints = [
            .audioChannelLayout: [DeviceConstraint(.channelLayout(.stereo), kind: kind)]
        ]
        let doubled = try select([Devices.mono], constraints)
        #expect(doubled.configuration.channels == .stereo)
        #expect(doubled.unmet.isEmpty)
        #expect(doubled.explanation.candidates[0].configuration == "stereo, of one channel")
        let real = try select([Devices.mono, Devices.stereo], constraints)
        #expect(real.device == Devices.stereo)
        #expect(
            real.explanation.reason == "Sound card rather than Headset: it has two channels of its own.")
        // Another ideal constraint has priority over two channels.
        let upper = Devices.microphone("upper", "Upper", channels: 1...1, location: .upper)
        let both = constraints.merging([.location: [.ideal(.location(.upper))]]) { one, _ in one }
        #expect(try select([Devices.stereo, upper], both).device == upper)
    }

    @Test(
        "mono is the mix of two channels",
        arguments: [DeviceConstraint.Kind.exact, .ideal])
    func mono(_ kind: DeviceConstraint.Kind) throws {
        let selection = try select(
            [Devices.stereo, Devices.mono],
            [.audioChannelLayout: [DeviceConstraint(.channelLayout(.mono), kind: kind)]])
        #expect(selection.configuration.channels == .mono)
        #expect(selection.device == Devices.stereo)
        #expect(selection.unmet.isEmpty)
    }

    @Test("constraints for video have no effect on audio")
    func foreign() throws {
        let constraints: DeviceConstraints = [
            .width: [.min(9_000)], .flashMode: [.exact(.flashMode(.alwaysOn))],
            .autoFocusTarget: [.exact(.focusTarget(FocusTarget(x: 0, y: 0)!))],
        ]
        #expect(try select([Devices.mono], constraints).configuration == AudioConfiguration())
    }

    @Test("a polar pattern is selected from the microphone's; another one is reported as unmet")
    func patterns() throws {
        let plain = Devices.microphone("plain", "Plain")
        let directed = Devices.microphone(
            "directed", "Directed", patterns: [.cardioid, .omnidirectional])
        let ideal: DeviceConstraints = [.polarPattern: [.ideal(.polarPattern(.cardioid))]]
        let selection = try select([plain, directed], ideal)
        #expect(selection.device == directed)
        #expect(selection.configuration.polarPattern == .cardioid)
        let unmet = try select([plain], ideal)
        #expect(unmet.configuration.polarPattern == .automatic)
        #expect(unmet.unmet == [.polarPattern: "its polar pattern is unknown"])
        let other: DeviceConstraints = [.polarPattern: [.ideal(.polarPattern(.subcardioid))]]
        #expect(
            try select([directed], other).unmet == [.polarPattern: "it is omnidirectional or cardioid"])
        let demand: DeviceConstraints = [.polarPattern: [.exact(.polarPattern(.subcardioid))]]
        #expect(
            throws: ConstraintFailure(
                capability: .polarPattern, constraint: .exact(.polarPattern(.subcardioid)),
                nearest: "omnidirectional")
        ) { try select([directed], demand) }
        #expect(
            throws: ConstraintFailure(
                capability: .polarPattern, constraint: .exact(.polarPattern(.subcardioid)), nearest: nil)
        ) { try select([plain], demand) }
    }
}
