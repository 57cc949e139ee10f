import PCastCore
import Testing

@testable import PCastDevices

/// The tables of the Phenix documentation on device capabilities, sentence by sentence, as far as the selection shows
/// them.
@Suite("Device capabilities")
struct DeviceCapabilityTests {
    typealias Devices = ConstraintDevices

    private func video(_ devices: [SourceDevice], _ constraints: DeviceConstraints) throws -> VideoSelection {
        try #require(try ConstraintSolver.selectVideo(from: devices, constraints: constraints))
    }

    private func audio(_ devices: [SourceDevice], _ constraints: DeviceConstraints) throws -> AudioSelection {
        try #require(try ConstraintSolver.selectAudio(from: devices, constraints: constraints))
    }

    @Test("there are the capabilities of Phenix, and the auto-focus target")
    func capabilities() {
        #expect(
            DeviceCapability.allCases.map(\.rawValue) == [
                "width", "height", "frame-rate", "facing-mode", "flash-mode", "device-id", "location", "polar-pattern",
                "audio-echo-cancellation-mode", "video-source-rotation-mode", "auto-focus-mode", "auto-focus-target",
                "audio-channel-layout",
            ])
    }

    // MARK: Constraint types

    @Test("min, hard constraint: capability must have at least the specified value")
    func min() throws {
        let selection = try video([Devices.webcam], [.width: [.min(1_281)], .frameRate: [.min(20)]])
        #expect(selection.configuration.dimensions.width == 1_920)
        #expect(selection.configuration.frameRate == FrameRate(30))
        #expect(throws: ConstraintFailure.self) { try video([Devices.webcam], [.width: [.min(1_921)]]) }
    }

    @Test("max, hard constraint: capability must have at most the specified value")
    func max() throws {
        let selection = try video([Devices.webcam], [.height: [.max(719)], .frameRate: [.max(29)]])
        #expect(selection.configuration.dimensions.height == 480)
        #expect(selection.configuration.frameRate == FrameRate(15))
        #expect(throws: ConstraintFailure.self) { try video([Devices.webcam], [.height: [.max(479)]]) }
    }

    @Test("exact, hard constraint: capability must have exactly the specified value")
    func exact() throws {
        let selection = try video([Devices.webcam], [.width: [.exact(1_920)], .frameRate: [.exact(15)]])
        #expect(selection.configuration.dimensions == Dimensions(width: 1_920, height: 1_080))
        #expect(selection.configuration.frameRate == FrameRate(15))
        #expect(throws: ConstraintFailure.self) { try video([Devices.webcam], [.width: [.exact(1_919)]]) }
    }

    @Test("ideal, soft constraint: capability should have specified value, but other values are acceptable (default)")
    func ideal() throws {
        #expect(DeviceConstraint(.number(1)).kind == .ideal)
        #expect(
            try video([Devices.webcam], [.width: [.ideal(1_919)]]).configuration.dimensions.width == 1_920)
        let several = try video([Devices.webcam], [.width: [.ideal(640), .ideal(640), .ideal(1_920)]])
        #expect(several.configuration.dimensions.width == 640)
        #expect(several.unmet == [.width: "640 instead of 1920"])
    }

    // MARK: Facing mode

    @Test(
        "facing mode automatic: select a facing mode automatically (default)",
        arguments: [DeviceConstraint.Kind.exact, .ideal])
    func facingAutomatic(_ kind: DeviceConstraint.Kind) throws {
        for devices in [[Devices.front, Devices.back], [Devices.back, Devices.front], [Devices.webcam]] {
            let selection = try video(devices, [.facingMode: [DeviceConstraint(.facingMode(.automatic), kind: kind)]])
            #expect(selection.device == devices[0])
            #expect(selection.unmet.isEmpty)
        }
    }

    @Test("facing mode environment: facing the surrounding environment (e.g., back camera)")
    func facingEnvironment() throws {
        for kind in [DeviceConstraint.Kind.exact, .ideal] {
            let selection = try video(
                [Devices.webcam, Devices.front, Devices.back],
                [.facingMode: [DeviceConstraint(.facingMode(.environment), kind: kind)]])
            #expect(selection.device == Devices.back)
        }
    }

    @Test("facing mode user: facing the user (e.g., front camera)")
    func facingUser() throws {
        let ideal: DeviceConstraints = [.facingMode: [.ideal(.facingMode(.user))]]
        #expect(try video([Devices.webcam, Devices.back, Devices.front], ideal).device == Devices.front)
        // The direction of a webcam is unknown. Its distance is the same as that of any other.
        let unknown = try video([Devices.webcam, Devices.back], ideal)
        #expect(unknown.device == Devices.webcam)
        #expect(unknown.unmet == [.facingMode: "its facing mode is unknown"])
        #expect(unknown.explanation.candidates.map(\.distance) == [1, 1])
        #expect(try video([Devices.back], ideal).unmet == [.facingMode: "its facing mode is environment"])
        let demand: DeviceConstraints = [.facingMode: [.exact(.facingMode(.user))]]
        #expect(throws: ConstraintFailure.self) { try video([Devices.webcam, Devices.back], demand) }
    }

    // MARK: Flash mode

    @Test(
        "flash mode, focus, target and rotation are only applicable to video devices",
        arguments: [DeviceCapability.flashMode, .videoSourceRotationMode, .autoFocusMode, .autoFocusTarget])
    func videoOnly(_ capability: DeviceCapability) throws {
        #expect(capability.mediaTypes == [.video])
        let demands: [DeviceCapability: DeviceConstraint] = [
            .flashMode: .exact(.flashMode(.alwaysOn)), .autoFocusMode: .exact(.autoFocusMode(.continuous)),
            .videoSourceRotationMode: .exact(.rotationMode(.followDeviceRotation)),
            .autoFocusTarget: .exact(.focusTarget(FocusTarget(x: 1, y: 1)!)),
        ]
        let constraints = [capability: [demands[capability]!]]
        #expect(try audio([Devices.mono], constraints).configuration == AudioConfiguration())
        #expect(throws: ConstraintFailure.self) { try video([Devices.webcam], constraints) }
    }

    @Test("flash mode automatic: flash is turned on automatically when needed (default)")
    func flashAutomatic() throws {
        #expect(try video([Devices.back], [:]).configuration.flashMode == .automatic)
        for kind in [DeviceConstraint.Kind.exact, .ideal] {
            let ideal: DeviceConstraints = [.flashMode: [DeviceConstraint(.flashMode(.automatic), kind: kind)]]
            #expect(try video([Devices.back], ideal).configuration.flashMode == .automatic)
            #expect(try video([Devices.webcam], ideal).unmet.isEmpty)
        }
    }

    @Test("flash mode always on: flash is on (if available)")
    func flashAlwaysOn() throws {
        let ideal: DeviceConstraints = [.flashMode: [.ideal(.flashMode(.alwaysOn))]]
        #expect(try video([Devices.webcam, Devices.back], ideal).device == Devices.back)
        #expect(try video([Devices.back], ideal).configuration.flashMode == .alwaysOn)
        let without = try video([Devices.webcam], ideal)
        #expect(without.configuration.flashMode == .automatic)
        #expect(without.unmet == [.flashMode: "it has no flash"])
        #expect(throws: ConstraintFailure.self) {
            try video([Devices.webcam], [.flashMode: [.exact(.flashMode(.alwaysOn))]])
        }
    }

    @Test("flash mode always off: flash is off", arguments: [DeviceConstraint.Kind.exact, .ideal])
    func flashAlwaysOff(_ kind: DeviceConstraint.Kind) throws {
        for device in [Devices.back, Devices.webcam, Devices.testPattern] {
            let selection = try video([device], [.flashMode: [DeviceConstraint(.flashMode(.alwaysOff), kind: kind)]])
            #expect(selection.configuration.flashMode == .alwaysOff)
            #expect(selection.unmet.isEmpty)
        }
    }

    // MARK: Device location

    private static let located = [DeviceLocation.automatic, .lower, .upper].map { location in
        Devices.microphone("\(location)", "\(location)", location: location)
    }

    @Test("location automatic: select any device (default)", arguments: [DeviceConstraint.Kind.exact, .ideal])
    func locationAutomatic(_ kind: DeviceConstraint.Kind) throws {
        for devices in [Self.located, Self.located.reversed()] {
            let selection = try audio(devices, [.location: [DeviceConstraint(.location(.automatic), kind: kind)]])
            #expect(selection.device == devices[0])
            #expect(selection.unmet.isEmpty)
        }
    }

    @Test(
        "location upper: mounted on top of phone/tablet; lower: mounted at bottom of phone/tablet",
        arguments: [DeviceLocation.upper, .lower])
    func location(_ location: DeviceLocation) throws {
        for kind in [DeviceConstraint.Kind.exact, .ideal] {
            let ideal: DeviceConstraints = [.location: [DeviceConstraint(.location(location), kind: kind)]]
            #expect(try audio(Self.located, ideal).device.info.location == location)
            let cameras = [DeviceLocation.automatic, .lower, .upper].map {
                Devices.camera("c", "C", location: $0, formats: [Devices.anySize])
            }
            #expect(try video(cameras, ideal).device.info.location == location)
        }
        #expect(
            try audio([Self.located[0]], [.location: [.ideal(.location(location))]]).unmet
                == [.location: "its location is unknown"])
    }

    // MARK: Polar pattern

    @Test(
        "polar pattern and echo cancellation are only applicable to audio devices",
        arguments: [DeviceCapability.polarPattern, .audioEchoCancellationMode, .audioChannelLayout])
    func audioOnly(_ capability: DeviceCapability) throws {
        #expect(capability.mediaTypes == [.audio])
        let constraints: DeviceConstraints = [
            capability: [.exact(.polarPattern(.cardioid)), .exact(.echoCancellation(.on))]
        ]
        #expect(try video([Devices.webcam], constraints).unmet.isEmpty)
    }

    @Test("polar pattern automatic: automatically select pattern (default)")
    func polarAutomatic() throws {
        let devices = [Devices.mono, Devices.microphone("d", "D", patterns: [.cardioid])]
        for kind in [DeviceConstraint.Kind.exact, .ideal] {
            let selection = try audio(
                devices, [.polarPattern: [DeviceConstraint(.polarPattern(.automatic), kind: kind)]])
            #expect(selection.device == Devices.mono)
            #expect(selection.configuration.polarPattern == .automatic)
        }
    }

    @Test(
        "polar patterns omnidirectional, cardioid and subcardioid: a microphone that has it is chosen, and set to it",
        arguments: [PolarPattern.omnidirectional, .cardioid, .subcardioid])
    func polar(_ pattern: PolarPattern) throws {
        let patterns: Set<PolarPattern> = [.omnidirectional, .cardioid, .subcardioid]
        let devices = [
            Devices.mono, Devices.microphone("others", "Others", patterns: patterns.subtracting([pattern])),
            Devices.microphone("it", "It", patterns: patterns),
        ]
        for kind in [DeviceConstraint.Kind.exact, .ideal] {
            let selection = try audio(devices, [.polarPattern: [DeviceConstraint(.polarPattern(pattern), kind: kind)]])
            #expect(selection.device == devices[2])
            #expect(selection.configuration.polarPattern == pattern)
        }
    }

    // MARK: Audio echo cancellation mode

    private static let clapper = Devices.microphone("clapper", "Clapper", canCancelEcho: false)

    @Test("echo cancellation automatic: automatically select AEC (default)")
    func echoAutomatic() throws {
        for device in [Devices.mono, Self.clapper] {
            for kind in [DeviceConstraint.Kind.exact, .ideal] {
                let ideal = DeviceConstraint(.echoCancellation(.automatic), kind: kind)
                let selection = try audio([device], [.audioEchoCancellationMode: [ideal]])
                #expect(selection.configuration.echoCancellation == .automatic)
                #expect(selection.unmet.isEmpty)
            }
        }
    }

    @Test("echo cancellation on: enable AEC if available")
    func echoOn() throws {
        let ideal: DeviceConstraints = [.audioEchoCancellationMode: [.ideal(.echoCancellation(.on))]]
        let selection = try audio([Self.clapper, Devices.mono], ideal)
        #expect(selection.device == Devices.mono)
        #expect(selection.configuration.echoCancellation == .on)
        let without = try audio([Self.clapper], ideal)
        #expect(without.configuration.echoCancellation == .automatic)
        #expect(without.unmet == [.audioEchoCancellationMode: "it is not a microphone, so it has no echo"])
        let demand: DeviceConstraints = [.audioEchoCancellationMode: [.exact(.echoCancellation(.on))]]
        #expect(try audio([Self.clapper, Devices.mono], demand).device == Devices.mono)
        #expect(throws: ConstraintFailure.self) { try audio([Self.clapper], demand) }
    }

    @Test("echo cancellation off: disabled AEC", arguments: [DeviceConstraint.Kind.exact, .ideal])
    func echoOff(_ kind: DeviceConstraint.Kind) throws {
        let constraints: DeviceConstraints = [
            .audioEchoCancellationMode: [DeviceConstraint(.echoCancellation(.off), kind: kind)]
        ]
        for device in [Devices.mono, Self.clapper] {
            #expect(try audio([device], constraints).configuration.echoCancellation == .off)
        }
    }

    // MARK: Video source rotation mode

    @Test("rotation mode automatic: automatically select rotation mode (default)")
    func rotationAutomatic() throws {
        #expect(try video([Devices.back], [:]).configuration.rotationMode == .automatic)
        let demand: DeviceConstraints = [.videoSourceRotationMode: [.exact(.rotationMode(.automatic))]]
        #expect(try video([Devices.webcam], demand).configuration.rotationMode == .automatic)
    }

    @Test("rotation mode follow device rotation: video frames oriented according to how device is held")
    func rotationDevice() throws {
        let ideal: DeviceConstraints = [.videoSourceRotationMode: [.ideal(.rotationMode(.followDeviceRotation))]]
        #expect(try video([Devices.webcam, Devices.front], ideal).device == Devices.front)
        #expect(try video([Devices.front], ideal).configuration.rotationMode == .followDeviceRotation)
        #expect(
            try video([Devices.webcam], ideal).unmet == [.videoSourceRotationMode: "it does not report its orientation"]
        )
        let demand = DeviceConstraint.exact(.rotationMode(.followDeviceRotation))
        #expect(
            throws: ConstraintFailure(
                capability: .videoSourceRotationMode, constraint: demand, nearest: "follow-ui-rotation")
        ) { try video([Devices.webcam], [.videoSourceRotationMode: [demand]]) }
    }

    @Test("rotation mode follow UI rotation: video frames oriented according to UI orientation")
    func rotationUI() throws {
        let demand: DeviceConstraints = [.videoSourceRotationMode: [.exact(.rotationMode(.followUIRotation))]]
        for device in [Devices.webcam, Devices.back] {
            #expect(try video([device], demand).configuration.rotationMode == .followUIRotation)
        }
    }

    // MARK: Auto-focus

    @Test("auto-focus mode automatic: automatically select auto-focus mode (default)")
    func focusAutomatic() throws {
        #expect(try video([Devices.back], [:]).configuration.autoFocusMode == .automatic)
        let demand: DeviceConstraints = [.autoFocusMode: [.exact(.autoFocusMode(.automatic))]]
        #expect(try video([Devices.webcam], demand).configuration.autoFocusMode == .automatic)
    }

    @Test(
        "auto-focus modes locked, auto then locked and continuous are set if the camera has them, or reported",
        arguments: [AutoFocusMode.locked, .autoThenLocked, .continuous])
    func focus(_ mode: AutoFocusMode) throws {
        let ideal: DeviceConstraints = [.autoFocusMode: [.ideal(.autoFocusMode(mode))]]
        let selection = try video([Devices.webcam, Devices.back], ideal)
        #expect(selection.device == Devices.back)
        #expect(selection.configuration.autoFocusMode == mode)
        let fixed = try video([Devices.webcam], ideal)
        #expect(fixed.configuration.autoFocusMode == .automatic)
        #expect(fixed.unmet == [.autoFocusMode: "it does not support this focus mode"])
        let demand = DeviceConstraint.exact(.autoFocusMode(mode))
        #expect(throws: ConstraintFailure(capability: .autoFocusMode, constraint: demand, nearest: nil)) {
            try video([Devices.webcam], [.autoFocusMode: [demand]])
        }
    }

    @Test("auto-focus target: the position of the captured image to focus on, from [0;0] to [1;1]")
    func focusTarget() throws {
        let target = try #require(FocusTarget(x: 0.5, y: 0.25))
        let ideal: DeviceConstraints = [.autoFocusTarget: [.ideal(.focusTarget(target))]]
        let selection = try video([Devices.webcam, Devices.back], ideal)
        #expect(selection.device == Devices.back)
        #expect(selection.configuration.focusTarget == target)
        #expect(try video([Devices.webcam], ideal).unmet == [.autoFocusTarget: "it has no focus target"])
        #expect(try video([Devices.back], [:]).configuration.focusTarget == nil)
        #expect(FocusTarget(x: 1.01, y: 0) == nil && FocusTarget(x: 0, y: -0.01) == nil)
        #expect(FocusTarget(x: 0, y: 0) != nil && FocusTarget(x: 1, y: 1) != nil)
    }

    // MARK: Source device

    @Test("device id: the source device that was enumerated under it")
    func deviceID() throws {
        for kind in [DeviceConstraint.Kind.exact, .ideal] {
            let selection = try video(
                [Devices.webcam, Devices.back], [.deviceID: [DeviceConstraint(.text("back"), kind: kind)]])
            #expect(selection.device == Devices.back)
        }
        #expect(
            try video([Devices.webcam], [.deviceID: [.ideal(.text("gone"))]]).unmet == [
                .deviceID: "it is unavailable; webcam is used"
            ])
    }

    @Test("source device types: null, physical, system output, synthetic and URI, of which hardware goes first")
    func deviceTypes() throws {
        #expect(
            SourceDeviceInfo.DeviceType.allCases.map(\.rawValue)
                == ["null", "physical", "system-output", "synthetic", "uri"])
        let devices = SourceDeviceInfo.DeviceType.allCases.map { type in
            var device = Devices.testPattern
            device.info.deviceType = type
            return device
        }
        let ranked = try video(devices, [:]).explanation.candidates.map(\.device.deviceType)
        #expect(ranked == [.physical, .systemOutput, .uri, .synthetic, .null])
    }

    @Test("a camera is swapped while it runs: the same options with another facing mode choose the other")
    func swap() throws {
        var options: DeviceConstraints = [
            .facingMode: [.ideal(.facingMode(.user))], .flashMode: [.ideal(.flashMode(.automatic))],
        ]
        let devices = [Devices.back, Devices.front]
        #expect(try video(devices, options).device == Devices.front)
        options[.facingMode]?[0].updateFacingMode(.environment)
        options[.flashMode]?[0].updateFlashMode(.alwaysOn)
        let swapped = try video(devices, options)
        #expect(swapped.device == Devices.back)
        #expect(swapped.configuration.flashMode == .alwaysOn)
    }
}
