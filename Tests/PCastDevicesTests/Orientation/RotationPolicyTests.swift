import PCastCodecs
import PCastCore
import Testing

@testable import PCastDevices

/// Sentences of the Phenix documentation on the video source rotation mode.
@Suite("The rotation of frames")
struct RotationPolicyTests {
    /// The mounting of a telephone's camera. The sensor is a landscape one, so its frames must be rotated to be
    /// upright.
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

    @Test("automatic follows the device if it has an accelerometer, and the UI otherwise")
    func automatic() {
        let policy = RotationPolicy(mode: .automatic, facing: .environment)
        #expect(
            policy.decide(device: Orientation(turn: .half), userInterface: .clockwise90)
                == .init(turn: .half, guide: .device))
        #expect(
            policy.decide(device: nil, userInterface: .clockwise90)
                == .init(turn: .clockwise90, guide: .userInterface))
    }

    @Test("following a device without an accelerometer is reported as unmet, and the UI is followed meanwhile")
    func unmet() {
        let policy = RotationPolicy(mode: .followDeviceRotation, facing: .environment)
        #expect(
            policy.decide(device: nil, userInterface: .half)
                == .init(turn: .half, guide: .userInterface, isUnmet: true))
        // The device has been flat from the start, but it has an accelerometer.
        #expect(policy.decide(device: Orientation(), userInterface: .half) == .init(turn: .half, guide: .userInterface))
    }

    /// A world with a mark for up, seen by a camera on a rotated device. The test computes where up is in the camera's
    /// frame. It uses directions and not the policy's own arithmetic.
    @Test(
        "for every orientation of the device, up in the world is up in the frame",
        arguments: FrameRotation.allCases,
        FrameRotation.allCases)
    func upright(_ held: FrameRotation, _ mounting: FrameRotation) {
        for facing in [FacingMode.environment, .user, .undefined] {
            let policy = RotationPolicy(mode: .automatic, mounting: mounting, facing: facing)
            let decision = policy.decide(device: Orientation(turn: held), userInterface: .none)
            // The clockwise quarters from the device's top to the world's up, seen from the screen's side.
            let upOnScreen = (4 - held.degrees / 90) % 4
            // A back camera has the same top as the screen. A front camera exchanges left and right.
            let upForCamera = facing == .environment ? upOnScreen : (4 - upOnScreen) % 4
            // The direction of up in the sensor's own frame, before the mounting's clockwise rotation.
            let upInSensor = (upForCamera + 4 - mounting.degrees / 90) % 4
            #expect((upInSensor + decision.turn.degrees / 90) % 4 == 0, "\(facing)")
        }
    }
}
