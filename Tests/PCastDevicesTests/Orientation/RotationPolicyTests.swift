import PCastCodecs
import PCastCore
import Testing

@testable import PCastDevices

/// Sentences of the Phenix documentation on the video source rotation mode.
@Suite("Which way pictures are turned")
struct RotationPolicyTests {
    /// A telephone's: the sensor is a landscape one, so that its picture must be turned to stand upright.
    private static let telephone = FrameRotation.clockwise90
    private static let sensor = Dimensions(width: 1_280, height: 720)

    private static func turned(_ dimensions: Dimensions, by turn: FrameRotation) -> Dimensions {
        turn.exchangesSides ? Dimensions(width: dimensions.height, height: dimensions.width) : dimensions
    }

    @Test(
        """
        "Follow device rotation will ensure that video frames match the orientation in which the user is holding the \
        device, regardless of how the app UI may be oriented": held sideways, video is in landscape mode
        """, arguments: FrameRotation.allCases, [FacingMode.user, .environment])
    func followDevice(_ userInterface: FrameRotation, _ facing: FacingMode) {
        let policy = RotationPolicy(mode: .followDeviceRotation, mounting: Self.telephone, facing: facing)
        for held in FrameRotation.allCases {
            let decision = policy.decide(device: Orientation(turn: held), userInterface: userInterface)
            #expect(decision.guide == .device && !decision.isUnmet)
            let dimensions = Self.turned(Self.sensor, by: decision.turn)
            #expect((dimensions.width > dimensions.height) == held.exchangesSides, "held at \(held.degrees)")
        }
    }

    @Test(
        """
        "Following UI rotation allows your app to keep the video orientation locked to the UI rotation, regardless of \
        how the user is holding the device": a UI locked in portrait mode has portrait video even held sideways
        """, arguments: FrameRotation.allCases, [FacingMode.user, .environment])
    func followUI(_ held: FrameRotation, _ facing: FacingMode) {
        let policy = RotationPolicy(mode: .followUIRotation, mounting: Self.telephone, facing: facing)
        let decision = policy.decide(device: Orientation(turn: held), userInterface: .none)
        #expect(decision == .init(turn: .clockwise90, guide: .userInterface))
        #expect(Self.turned(Self.sensor, by: decision.turn) == Dimensions(width: 720, height: 1_280))
        let landscape = policy.decide(device: Orientation(turn: held), userInterface: .clockwise90)
        #expect(Self.turned(Self.sensor, by: landscape.turn) == Self.sensor)
    }

    @Test("automatic follows the device where there is an accelerometer, else the UI")
    func automatic() {
        let policy = RotationPolicy(mode: .automatic, facing: .environment)
        #expect(
            policy.decide(device: Orientation(turn: .half), userInterface: .clockwise90)
                == .init(turn: .half, guide: .device))
        #expect(
            policy.decide(device: nil, userInterface: .clockwise90)
                == .init(turn: .clockwise90, guide: .userInterface))
    }

    @Test("to follow a device that cannot tell how it is held is told as unmet, and the UI is followed meanwhile")
    func unmet() {
        let policy = RotationPolicy(mode: .followDeviceRotation, facing: .environment)
        #expect(
            policy.decide(device: nil, userInterface: .half)
                == .init(turn: .half, guide: .userInterface, isUnmet: true))
        // Flat since it was looked at: the accelerometer is there.
        #expect(policy.decide(device: Orientation(), userInterface: .half) == .init(turn: .half, guide: .userInterface))
    }

    /// A world with a mark for up, seen by a camera on a device that is turned: which way up lies in the camera's
    /// picture. Worked out by directions and not by the policy's own sums.
    @Test(
        "whichever way a device is held, what is up in the world is up in the picture",
        arguments: FrameRotation.allCases,
        FrameRotation.allCases)
    func upright(_ held: FrameRotation, _ mounting: FrameRotation) {
        for facing in [FacingMode.environment, .user, .undefined] {
            let policy = RotationPolicy(mode: .automatic, mounting: mounting, facing: facing)
            let decision = policy.decide(device: Orientation(turn: held), userInterface: .none)
            // Quarters clockwise from the device's top to the world's up, seen on the screen's side.
            let upOnScreen = (4 - held.degrees / 90) % 4
            // A camera that looks away sees the device's top as the screen's side does; one that looks at the user sees
            // left and right exchanged.
            let upForCamera = facing == .environment ? upOnScreen : (4 - upOnScreen) % 4
            // Where it lies in the sensor's own picture, which the mounting would turn clockwise.
            let upInSensor = (upForCamera + 4 - mounting.degrees / 90) % 4
            #expect((upInSensor + decision.turn.degrees / 90) % 4 == 0, "\(facing)")
        }
    }
}
