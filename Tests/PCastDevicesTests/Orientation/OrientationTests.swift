import Glibc
import PCastCodecs
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
