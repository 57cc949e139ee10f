import Glibc
import PCastCodecs
import PCastCore
import Testing

@testable import PCastDevices

@Suite("The orientation of a device from the direction of gravity")
struct OrientationTests {
    /// Returns the gravity of a device that is turned clockwise by an angle in degrees, and leaned back from upright by
    /// another.
    private static func gravity(turned angle: Double, leaned tilt: Double = 0) -> Gravity {
        let (turn, lean) = (angle * .pi / 180, tilt * .pi / 180)
        let share = Gravity.standard * cos(lean)
        return Gravity(x: share * sin(turn), y: -share * cos(turn), z: -Gravity.standard * sin(lean))
    }

    @Test("each quarter is recognized by the lower edge", arguments: FrameRotation.allCases)
    func quarters(_ turn: FrameRotation) {
        var orientation = Orientation()
        #expect(orientation.turn == nil)
        orientation.update(Self.gravity(turned: Double(turn.degrees)))
        #expect(orientation.turn == turn)
    }

    @Test("rotated clockwise by a quarter, the right edge is down and the left one up")
    func convention() {
        var orientation = Orientation()
        orientation.update(Gravity(x: 9.81, y: 0, z: 0))
        #expect(orientation.turn == .clockwise90)
        orientation.update(Gravity(x: 0, y: -9.81, z: 0))
        #expect(orientation.turn == FrameRotation.none)
    }

    @Test("between two quarters the previous one remains up to 60 degrees, in both directions")
    func hysteresis() {
        var orientation = Orientation(turn: .some(.none))
        for angle in 0...59 {
            orientation.update(Self.gravity(turned: Double(angle)))
            #expect(orientation.turn == FrameRotation.none, "at \(angle)")
        }
        orientation.update(Self.gravity(turned: 61))
        #expect(orientation.turn == .clockwise90)
        for angle in (31...61).reversed() {
            orientation.update(Self.gravity(turned: Double(angle)))
            #expect(orientation.turn == .clockwise90, "back at \(angle)")
        }
        orientation.update(Self.gravity(turned: 29))
        #expect(orientation.turn == FrameRotation.none)
        orientation.update(Self.gravity(turned: -61))
        #expect(orientation.turn == .clockwise270)
        orientation.update(Self.gravity(turned: 180))
        #expect(orientation.turn == .half)
    }

    @Test("a device that lies flat keeps its last orientation, screen up or down, until it is lifted")
    func flat() {
        var orientation = Orientation(turn: .clockwise90)
        for tilt in [65.0, 90, -65, -90] {
            orientation.update(Self.gravity(turned: 0, leaned: tilt))
            #expect(orientation.turn == .clockwise90, "tilted by \(tilt)")
        }
        orientation.update(Self.gravity(turned: 0, leaned: 55))
        #expect(orientation.turn == FrameRotation.none)
    }

    @Test("a device that has always been flat reports nothing")
    func flatFromTheBeginning() {
        var orientation = Orientation()
        orientation.update(Gravity(x: 0, y: 0, z: -9.81))
        #expect(orientation.turn == nil)
    }

    @Test(
        "shaking, falling or invalid values do not change the orientation",
        arguments: [
            Gravity(x: 25, y: 0, z: 0), Gravity(x: 1, y: 0, z: 0), Gravity(x: 0, y: 0, z: 0),
            Gravity(x: .nan, y: 0, z: 0), Gravity(x: .infinity, y: 0, z: 0),
        ])
    func movements(_ gravity: Gravity) {
        var orientation = Orientation(turn: .some(.none))
        orientation.update(gravity)
        #expect(orientation.turn == FrameRotation.none)
    }

    @Test("a mount matrix of udev's database maps a sensor's axes to the screen's")
    func mountMatrix() throws {
        // Onda v975w, from 60-sensor.hwdb: upright it reads about one g along x.
        let matrix = try #require(MountMatrix("0, -1, 0; -1, 0, 0; 0, 0, 1"))
        #expect(matrix.apply(Gravity(x: 1, y: 2, z: 3)) == Gravity(x: -2, y: -1, z: 3))
        var orientation = Orientation()
        orientation.update(matrix.apply(Gravity(x: 523 * 0.019163, y: 13 * 0.019163, z: 5 * 0.019163)))
        #expect(orientation.turn == FrameRotation.none)
    }

    @Test(
        "an invalid matrix is rejected",
        arguments: [
            "", "1, 0, 0", "1, 0; 0, 1; 0, 0", "a, 0, 0; 0, 1, 0; 0, 0, 1", "0,0,0;0,0,0;0,0,0", "1,,0;0,1,0;0,0,1",
        ])
    func noMatrix(_ text: String) {
        #expect(MountMatrix(text) == nil)
    }
}

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
