import PCastCore
import Testing

@testable import PCastDevices

@Suite("Sizes and rates that are derived from the modes of a device")
struct ConstraintScalingTests {
    typealias Devices = ConstraintDevices

    private let fullHD = Devices.camera("hd", "Camera", formats: [Devices.format(.nv12, 1_920, 1_080, [30])])

    private func select(
        _ devices: [SourceDevice], _ constraints: DeviceConstraints, prefersCoded: Bool = false, scales: Bool = true
    ) throws -> VideoSelection {
        try #require(
            try ConstraintSolver.selectVideo(
                from: devices, constraints: constraints, prefersCoded: prefersCoded, allowsScaling: scales))
    }

    private func size(
        _ width: Double, _ height: Double, _ kind: DeviceConstraint.Kind = .ideal
    ) -> DeviceConstraints {
        [
            .width: [DeviceConstraint(.number(width), kind: kind)],
            .height: [DeviceConstraint(.number(height), kind: kind)],
        ]
    }

    @Test("a size below the device's is satisfied, as an ideal and as an exact value", arguments: [true, false])
    func smaller(_ isExact: Bool) throws {
        let wanted = size(1_280, 720, isExact ? .exact : .ideal)
        let selection = try select([fullHD], wanted)
        #expect(selection.configuration.dimensions == Dimensions(width: 1_920, height: 1_080))
        #expect(selection.configuration.scaledDimensions == Dimensions(width: 1_280, height: 720))
        #expect(selection.deliveredDimensions == Dimensions(width: 1_280, height: 720))
        #expect(selection.unmet.isEmpty)
        #expect(selection.explanation.candidates[0].configuration == "1280x720 at 30, NV12 of 1920x1080 at 30")
        #expect(selection.explanation.candidates[0].distance == 0)
    }

    @Test("without permission, an ideal size gives the nearest mode, and an exact one is an error")
    func disabled() throws {
        let selection = try select([fullHD], size(1_280, 720), scales: false)
        #expect(selection.configuration.scaledDimensions == nil)
        #expect(selection.unmet.count == 2)
        #expect(throws: ConstraintFailure(capability: .width, constraint: .exact(1_280), nearest: "1920")) {
            try select([fullHD], size(1_280, 720, .exact), scales: false)
        }
    }

    @Test("frames are never enlarged: an ideal size gives the largest mode, and an exact one is an error")
    func larger() throws {
        let selection = try select([fullHD], size(3_840, 2_160))
        #expect(selection.configuration.scaledDimensions == nil)
        #expect(selection.unmet == [.width: "1920 instead of 3840", .height: "1080 instead of 2160"])
        #expect(throws: ConstraintFailure(capability: .width, constraint: .exact(3_840), nearest: "1920")) {
            try select([fullHD], size(3_840, 2_160, .exact))
        }
    }

    @Test("without constraints nothing is scaled or dropped")
    func unconstrained() throws {
        let fast = Devices.camera("fast", "Camera", formats: [Devices.format(.nv12, 1_920, 1_080, [60])])
        let configuration = try select([fast], [:]).configuration
        #expect(configuration.scaledDimensions == nil && configuration.reducedFrameRate == nil)
    }

    @Test("a mode of the device is preferred, with the reason, also if scaling would use less CPU time")
    func native() throws {
        let camera = Devices.camera(
            "c", "Camera",
            formats: [Devices.format(.nv12, 1_920, 1_080, [30]), Devices.format(.mjpeg, 1_280, 720, [30])])
        let selection = try select([camera], size(1_280, 720))
        #expect(selection.configuration.encoding == .mjpeg && selection.configuration.scaledDimensions == nil)
        #expect(
            selection.explanation.candidates[0].configurationReason
                == "rather than 1280x720 at 30, NV12 of 1920x1080 at 30: it needs no scaling, or less")
        // Another camera that has the size itself is preferred as well.
        #expect(try select([fullHD, camera], size(1_280, 720)).device == camera)
    }

    @Test("a limit alone is satisfied by scaling with the aspect ratio of the mode")
    func limit() throws {
        let wide = Devices.camera("w", "Camera", formats: [Devices.format(.nv12, 1_600, 1_200, [30])])
        let selection = try select([wide], [.width: [.max(800)]])
        #expect(selection.configuration.scaledDimensions == Dimensions(width: 800, height: 600))
        #expect(
            try select([wide], [.height: [.ideal(480)]]).configuration.scaledDimensions
                == Dimensions(width: 640, height: 480))
    }

    @Test("of several modes, the one of which the least is cut off, then the smallest one is scaled")
    func mode() throws {
        let camera = Devices.camera(
            "c", "Camera",
            formats: [
                Devices.format(.nv12, 3_840, 2_160, [30]), Devices.format(.nv12, 1_600, 1_200, [30]),
                Devices.format(.nv12, 1_920, 1_080, [30]),
            ])
        #expect(
            try select([camera], size(1_280, 720)).configuration.dimensions == Dimensions(width: 1_920, height: 1_080))
        #expect(
            try select([camera], size(1_024, 768)).configuration.dimensions == Dimensions(width: 1_600, height: 1_200))
    }

    @Test("a screen is not cut: it is scaled to fit within the size")
    func screen() throws {
        var screen = Devices.camera("s", "Screen", formats: [Devices.format(.computed, 1_920, 1_200, [60])])
        screen.info.deviceType = .systemOutput
        let selection = try select([screen], size(1_280, 720))
        #expect(selection.configuration.scaledDimensions == Dimensions(width: 1_152, height: 720))
        #expect(selection.unmet == [.width: "1152 instead of 1280"])
        #expect(selection.output(of: Dimensions(width: 1_920, height: 1_200)) == Dimensions(width: 1_152, height: 720))
        // A window that is resized is not enlarged, and is scaled by its own aspect ratio.
        let small = Dimensions(width: 640, height: 480)
        #expect(selection.output(of: small) == small)
        #expect(selection.output(of: Dimensions(width: 1_440, height: 1_440)) == Dimensions(width: 720, height: 720))
    }

    @Test("a rate below the device's is satisfied, by whole intervals where a mode has them")
    func rate() throws {
        let camera = Devices.camera("c", "Camera", formats: [Devices.format(.nv12, 1_280, 720, [24, 30])])
        let half = try select([camera], [.frameRate: [.exact(15)]])
        #expect(half.configuration.frameRate == FrameRate(30))
        #expect(half.configuration.reducedFrameRate == FrameRate(15))
        #expect(half.configuration.deliveredFrameRate == FrameRate(15) && half.unmet.isEmpty)
        #expect(try select([camera], [.frameRate: [.ideal(24)]]).configuration.reducedFrameRate == nil)
        #expect(try select([camera], [.frameRate: [.ideal(29.97)]]).configuration.reducedFrameRate == nil)
        #expect(throws: ConstraintFailure.self) { try select([camera], [.frameRate: [.exact(50)]]) }
    }

    @Test("H.264 of a camera is passed through only if it needs no scaling")
    func coded() throws {
        let camera = Devices.camera(
            "c", "Camera",
            formats: [Devices.format(.h264, 1_920, 1_080, [30]), Devices.format(.mjpeg, 1_920, 1_080, [30])])
        #expect(try select([camera], [:], prefersCoded: true).configuration.encoding == .h264)
        let scaled = try select([camera], size(1_280, 720), prefersCoded: true).configuration
        #expect(scaled.encoding == .mjpeg && scaled.scaledDimensions != nil)
    }

    @Test("a camera that is mounted on its side is scaled by its delivered size")
    func turned() throws {
        let camera = Devices.camera(
            "c", "Camera", formats: [Devices.format(.nv12, 1_920, 1_080, [30])], mountRotation: 1)
        let selection = try select([camera], size(720, 1_280))
        #expect(selection.configuration.scaledDimensions == Dimensions(width: 1_280, height: 720))
        #expect(selection.deliveredDimensions == Dimensions(width: 720, height: 1_280))
    }

    @Test("scaling never makes a required constraint fail that a mode satisfies, and never enlarges")
    func generated() {
        var derived = 0
        for seed in 1...150 as ClosedRange<UInt64> {
            var cases = ConstraintCases(seed: seed)
            let (devices, constraints) = (cases.devices(), cases.constraints())
            let without = try? ConstraintSolver.selectVideo(from: devices, constraints: constraints)
            let with = try? ConstraintSolver.selectVideo(
                from: devices, constraints: constraints, allowsScaling: true)
            #expect(without == nil || with != nil, "seed \(seed)")
            guard let with else { continue }
            let configuration = with.configuration
            #expect(configuration.deliveredDimensions.width <= configuration.dimensions.width, "seed \(seed)")
            #expect(configuration.deliveredDimensions.height <= configuration.dimensions.height, "seed \(seed)")
            #expect(configuration.deliveredFrameRate <= configuration.frameRate, "seed \(seed)")
            if configuration.isDerived { derived += 1 }
        }
        #expect(derived > 10)
    }
}
