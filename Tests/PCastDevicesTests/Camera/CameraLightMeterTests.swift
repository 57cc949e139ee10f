import PCastCodecs
import PCastCore
import Testing

@testable import PCastDevices

/// A room, a light, and a camera with automatic exposure. The meter gets the brightness that this camera would show.
private struct Room {
    /// The brightness of the room without light, and of the light. A frame shows their sum times the exposure.
    var ambient: Double
    var torch = 0.3
    /// The camera adapts its exposure towards medium brightness, within the range of its sensor.
    private var exposure = 1.0
    private(set) var meter = LightMeter()
    private(set) var now = Instant(nanoseconds: 0)
    private(set) var switches = 0

    init(ambient: Double) { self.ambient = ambient }

    /// Runs at 30 frames per second.
    mutating func run(seconds: Double) {
        let end = now + TimeSpan(seconds: seconds)
        while now < end {
            let light = ambient + (meter.isOn ? torch : 0)
            let videoFrame = min(light * exposure, 1)
            // The exposure covers half of the difference in a third of a second, between 1 and 4.
            exposure = min(max(exposure * (1 + 0.07 * (0.45 - videoFrame)), 1), 4)
            let before = meter.isOn
            meter.observe(videoFrame, at: now)
            if meter.isOn != before { switches += 1 }
            now += .nanoseconds(33_333_333)
        }
    }
}

@Suite("A camera's automatic light")
struct CameraLightMeterTests {
    @Test("the light stays off in a lit room")
    func lit() {
        var room = Room(ambient: 0.4)
        room.run(seconds: 3_600)
        #expect(room.switches == 0 && !room.meter.isOn)
    }

    @Test("the light turns on within seconds when the room becomes dark, and stays on")
    func dark() {
        var room = Room(ambient: 0.4)
        room.run(seconds: 10)
        room.ambient = 0.01
        room.run(seconds: 4)
        #expect(room.meter.isOn && room.switches == 1)
        room.run(seconds: 50)
        #expect(room.meter.isOn && room.switches == 1)
    }

    @Test("the light's own brightness does not turn it off: in an hour of darkness it blinks six times")
    func noOscillation() {
        var room = Room(ambient: 0.01)
        room.run(seconds: 3_600)
        // The light is tried after 1, 2, 4, 8 and then every 15 minutes, for a second each.
        #expect(room.meter.isOn && room.switches <= 1 + 2 * 7)
    }

    @Test("the light turns off soon after the room is lit")
    func lights() {
        var room = Room(ambient: 0.01)
        room.run(seconds: 20)
        #expect(room.meter.isOn)
        room.ambient = 0.9
        room.run(seconds: 6)
        #expect(!room.meter.isOn)
        room.run(seconds: 3_600)
        #expect(!room.meter.isOn && room.switches == 2)
    }

    @Test("the light turns off in a room that becomes lit slowly")
    func dawn() {
        var room = Room(ambient: 0.01)
        for _ in 0..<120 {
            room.run(seconds: 10)
            room.ambient += 0.004
        }
        room.run(seconds: 1_000)
        #expect(!room.meter.isOn)
    }

    @Test("the light does not flicker in twilight", arguments: stride(from: 0.03, through: 0.3, by: 0.01).map(\.self))
    func twilight(_ ambient: Double) {
        var room = Room(ambient: ambient)
        room.run(seconds: 3_600)
        #expect(room.switches <= 20, "there are too many switches in an hour")
    }

    @Test("a hand in front of the camera for a moment does not turn the light on")
    func moment() {
        var room = Room(ambient: 0.4)
        for _ in 0..<20 {
            room.run(seconds: 5)
            room.ambient = 0
            room.run(seconds: 0.8)
            room.ambient = 0.4
        }
        #expect(room.switches == 0)
    }

    @Test("brightness is the mean of the frame, from black to white")
    func brightness() {
        func videoFrame(_ luma: [UInt8]) -> VideoFrame {
            let frame = VideoFramePool().frame(
                dimensions: Dimensions(width: 128, height: 128), captureTime: nil,
                timestamp: MediaTime(ticks: 0, rate: .video))
            for row in 0..<128 {
                for column in 0..<128 {
                    frame.planeY[row * frame.strideY + column] = luma[row / 64 * 2 + column / 64]
                }
            }
            return frame
        }
        #expect(FrameBrightness.mean(of: videoFrame([16, 16, 16, 16])) == 0)
        #expect(FrameBrightness.mean(of: videoFrame([235, 235, 235, 235])) == 1)
        #expect(abs(FrameBrightness.mean(of: videoFrame([16, 235, 16, 235])) - 0.5) < 0.01)
        #expect(abs(FrameBrightness.mean(of: videoFrame([235, 16, 16, 16])) - 0.25) < 0.01)
        // Values beyond limited range are clamped.
        #expect(FrameBrightness.mean(of: videoFrame([0, 0, 0, 0])) == 0)
    }
}
